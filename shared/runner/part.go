package runner

import (
	"context"
	"fmt"
	"regexp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// store turns a step's updates into what a commit takes: checksums are computed
// and large bytes go to the blob store first.
func (s *session) store(ctx context.Context, updates []agent.Update) ([]lifecycle.Update, error) {
	out := make([]lifecycle.Update, 0, len(updates))
	for _, u := range updates {
		if u.Chunk == nil {
			m, err := s.storeMessage(ctx, u.Message)
			if err != nil {
				return nil, err
			}
			out = append(out, lifecycle.Update{Message: m})
			continue
		}
		c := u.Chunk
		content, err := lifecycle.PartContent(c.Part)
		if err != nil {
			return nil, agent.Permanent(err)
		}
		part, err := s.storePart(ctx, c.Part, content)
		if err != nil {
			return nil, err
		}
		out = append(out, lifecycle.Update{Append: c.Append, Chunk: &lifecycle.Chunk{
			Artifact: c.Artifact, Name: c.Name, Description: c.Description, Last: c.Last,
			Part: part, Bytes: int64(len(content)), Checksum: lifecycle.DigestBytes(content),
		}})
	}
	return out, nil
}

func (s *session) storeMessage(ctx context.Context, m *a2a.Message) (*a2a.Message, error) {
	if m == nil {
		return nil, nil
	}
	out := *m
	out.Parts = make(a2a.ContentParts, 0, len(m.Parts))
	for _, p := range m.Parts {
		content, err := lifecycle.PartContent(p)
		if err != nil {
			return nil, agent.Permanent(err)
		}
		part, err := s.storePart(ctx, p, content)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, part)
	}
	return &out, nil
}

// storePart keeps a small part as it is and moves a large one to the blob store.
func (s *session) storePart(ctx context.Context, p *a2a.Part, content []byte) (*a2a.Part, error) {
	if len(content) <= lifecycle.MaxInlineBytes {
		return p, nil
	}
	if p.URL() != "" {
		return nil, agent.Permanent(fmt.Errorf("a URL of %d bytes, the limit is %d", len(content), lifecycle.MaxInlineBytes))
	}
	ref := lifecycle.BlobRef{Digest: lifecycle.DigestBytes(content), Bytes: int64(len(content)), Kind: lifecycle.BlobKind(p)}
	if err := s.Blobs.Put(ctx, s.in.Ref, ref.Digest, content); err != nil {
		return nil, err
	}
	return lifecycle.BlobPart(p, ref), nil
}

// copied is a message that a step may change without its rerun seeing it.
func copied(m *a2a.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	out := *m
	out.Parts = make(a2a.ContentParts, 0, len(m.Parts))
	for _, p := range m.Parts {
		part := *p
		out.Parts = append(out.Parts, &part)
	}
	return &out
}

// secretForms are the shapes in which credentials turn up in error texts.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+`),
	regexp.MustCompile(`(?i)\b(authorization|api[-_]?key|token|secret|password|signature)(["']?\s*[:=]\s*)\S+`),
	regexp.MustCompile(`://[^/\s@]+@`),
	regexp.MustCompile(`\?[^\s"']+`),
}

// redact removes what looks like a credential from an error's text before it is
// kept (I9). Authors should not put any there; this is the second line.
func redact(text string) string {
	text = secretForms[0].ReplaceAllString(text, "$1 [redacted]")
	text = secretForms[1].ReplaceAllString(text, "$1$2[redacted]")
	text = secretForms[2].ReplaceAllString(text, "://[redacted]@")
	return secretForms[3].ReplaceAllString(text, "?[redacted]")
}
