package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// picture is a task as far as it must be the same whenever the same story was told:
// how it ended, its artifacts, its manifest, and every entry with the digest of what
// it says. Left out is what names the task or tells the time: the IDs of task, context
// and submission, instants, the chain (which runs over all of these), the receipt's
// digest (a receipt names its task), and how often something came in vain.
type picture struct {
	State      string
	Says       string
	Seq        uint64
	Fence      uint64
	Generation uint64
	Artifacts  string
	Manifest   string
	Entries    []string
}

// pictureOf looks at a task that has ended, and holds what it shows against itself.
func pictureOf(ctx context.Context, d door, id string) (picture, page, error) {
	all, err := d.ledger(ctx, id, 0)
	if err != nil {
		return picture{}, all, err
	}
	t, err := d.task(ctx, id)
	if err != nil {
		return picture{}, all, err
	}
	v := viewOf(t)
	p := picture{State: v.State, Says: v.Says, Seq: all.Head.Seq, Fence: all.Head.Fence, Generation: all.Head.Generation, Manifest: v.Receipt.Manifest}
	if all.Head.State != v.State || all.Head.Seq != v.Receipt.Sequence || all.Head.Chain != v.Receipt.Digest {
		return p, all, fmt.Errorf("the receipt is %+v, the ledger's head %+v", v.Receipt, all.Head)
	}
	for _, a := range t.Artifacts {
		p.Artifacts += a.ID + " " + digestOf([]byte(strings.Join(texts(a.Parts), ""))) + "\n"
	}
	for i, e := range all.Entries {
		if e.Seq != uint64(i+1) {
			return p, all, fmt.Errorf("entry %d has the sequence %d", i+1, e.Seq)
		}
		line, err := lineOf(e)
		if err != nil {
			return p, all, err
		}
		p.Entries = append(p.Entries, line)
	}
	return p, all, checkManifest(all, p.Manifest)
}

// differs says where two pictures are not alike.
func (p picture) differs(q picture) string {
	if len(p.Entries) != len(q.Entries) {
		return fmt.Sprintf("%d entries and %d", len(p.Entries), len(q.Entries))
	}
	for i := range p.Entries {
		if p.Entries[i] != q.Entries[i] {
			return fmt.Sprintf("entry %d is %s and %s", i+1, p.Entries[i], q.Entries[i])
		}
	}
	p.Entries, q.Entries = nil, nil
	if a, b := fmt.Sprintf("%+v", p), fmt.Sprintf("%+v", q); a != b {
		return a + " and " + b
	}
	return ""
}

// ofOneTask are what in a payload is of one task or one moment.
var ofOneTask = [][]string{
	{"submission", "contextId"}, {"submission", "lifeEndsAt"}, {"submission", "requestDigest"},
	{"pause", "deadlineAt"}, {"pause", "challenge", "expiresAt"}, {"receipt", "digest"}, {"message", "taskId"},
}

// lineOf is an entry in a picture.
func lineOf(e entry) (string, error) {
	var payload map[string]any
	if err := json.Unmarshal(e.Payload, &payload); err != nil {
		return "", fmt.Errorf("entry %d: %w", e.Seq, err)
	}
	id := e.EventID
	if e.Type == "submitted" {
		id = "submission"
		remove(payload, []string{"message", "messageId"})
	}
	for _, path := range ofOneTask {
		remove(payload, path)
	}
	content, err := canonical(payload)
	if err != nil {
		return "", err
	}
	producer, _, client := strings.Cut(e.Producer, "client:")
	if client {
		producer = "client"
	}
	if e.Type == "authorized" {
		id = receiptID // whoever presents a receipt gives the event no name
	}
	return fmt.Sprintf("%s %s of %s, number %d under fence %d: %s", e.Type, id, producer, e.SourceSeq, e.Fence, digestOf(content)), nil
}

func remove(from map[string]any, path []string) {
	for _, name := range path[:len(path)-1] {
		inner, is := from[name].(map[string]any)
		if !is {
			return
		}
		from = inner
	}
	delete(from, path[len(path)-1])
}

// checkManifest holds the manifest's digest in a receipt against the closing entry's
// manifest, as the digest of its canonical JSON.
func checkManifest(all page, digest string) error {
	if len(all.Entries) == 0 {
		return fmt.Errorf("a task without entries")
	}
	last := all.Entries[len(all.Entries)-1]
	var closing struct {
		Ending struct {
			Manifest       []map[string]any `json:"manifest"`
			ManifestDigest string           `json:"manifestDigest"`
		} `json:"ending"`
	}
	if err := json.Unmarshal(last.Payload, &closing); err != nil {
		return err
	}
	manifest := closing.Ending.Manifest
	if manifest == nil {
		manifest = []map[string]any{}
	}
	content, err := canonical(manifest)
	if err != nil {
		return err
	}
	if got := digestOf(content); last.Type != "ended" || got != digest || got != closing.Ending.ManifestDigest {
		return fmt.Errorf("the last entry is %s with the manifest %s, recorded as %s; the receipt says %s", last.Type, got, closing.Ending.ManifestDigest, digest)
	}
	return nil
}
