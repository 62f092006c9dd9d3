// Package events holds what crosses a boundary, as files: sample requests, the
// data sets that the worked examples review, recorded contracts. The files are
// embedded, so that a binary carries what its README sends. It imports nothing
// of ours and decides nothing; each folder's README documents its format.
package events

import _ "embed"

// AccessReviewCSV is the data set of the worked example, a quarterly access
// review of forty systems. events/accessreview/README.md documents its columns
// and the rules that find fourteen grants in it to revoke. Callers must not
// change the bytes.
//
//go:embed accessreview/grants.csv
var AccessReviewCSV []byte
