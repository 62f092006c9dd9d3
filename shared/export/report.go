package export

import (
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Violation is a broken invariant, and the line that shows it.
type Violation struct {
	Line      int    `json:"line"`
	Invariant string `json:"invariant"` // "I1" … "I12" of ARCHITECTURE.md
	Detail    string `json:"detail"`
}

// Error implements error.
func (v Violation) Error() string {
	return fmt.Sprintf("line %d: %s: %s", v.Line, v.Invariant, v.Detail)
}

// Report is what a check of an export came to.
type Report struct {
	Header Header
	// Head is the head's line; zero when there is none.
	Head Head
	// Counts are the lines that were read, and Seq and Chain the last entry's.
	Counts Counts
	Seq    uint64
	Chain  lifecycle.Digest
	// Manifest is the digest in the terminal entry; empty while the task lives.
	Manifest lifecycle.Digest
	// Violations are what is broken, by line; at most maxViolations.
	Violations []Violation
}

// maxViolations bounds a report: what is wrong once is often wrong everywhere.
const maxViolations = 100

// Unsigned is what no check of an export can find out.
const Unsigned = "Nothing in an export is signed: a chain that somebody recomputed as a whole cannot be told from the true one. " +
	"Compare the last sequence and digest with a receipt that was kept elsewhere."

// OK says that nothing is broken.
func (r Report) OK() bool { return len(r.Violations) == 0 }

// Against holds the export against the receipt of its task, as answers, streams and
// webhooks carried it: the sequence and the digest of an entry that callers were
// shown. It wants the last entry.
func (r Report) Against(digest lifecycle.Digest) error {
	if r.Chain == digest {
		return nil
	}
	return Violation{Line: r.Counts.Header + r.Counts.Entry, Invariant: "I1", Detail: fmt.Sprintf("the chain ends with %s, the receipt has %s", r.Chain, digest)}
}
