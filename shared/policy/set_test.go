package policy_test

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

func shipped(t *testing.T) *policy.Set {
	t.Helper()
	s, err := policy.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShipped: every file is the document that its name says, and each retention outlives the deliveries to webhooks.
func TestShipped(t *testing.T) {
	s := shipped(t)
	files, err := os.ReadDir("documents")
	if err != nil || len(files) != len(s.IDs()) {
		t.Fatalf("%d files for %v (%v)", len(files), s.IDs(), err)
	}
	for _, f := range files {
		d, err := s.Find(strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		if r := d.Retention; min(r.Completed, r.Failed, r.Canceled, r.Rejected) < lifecycle.MinRetention {
			t.Errorf("%s: %+v", f.Name(), r)
		}
	}
}

// TestDefault: the default document says what the product did before there were documents.
func TestDefault(t *testing.T) {
	d, err := shipped(t).Find(policy.Default)
	if err != nil {
		t.Fatal(err)
	}
	got, want := d.Policy(), lifecycle.DefaultPolicy()
	terms := *got.Terms
	got.Terms = nil
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	terms.Digest = ""
	if len(terms.Effects) > 0 || terms.Billing != (lifecycle.Billing{}) || terms.Seconds.Lease != 0 || terms.Seconds.Failed+terms.Seconds.Canceled+terms.Seconds.Rejected != 0 {
		t.Errorf("%+v", terms)
	}
	// The file never changes under its version. Whoever wants another default adds default@2.
	const digest = "6370a368ea86968e997a6323285c3680fa35dd1b0cc1e0c3cbcab1e55918586f"
	if d.Digest() != digest {
		t.Errorf("%s has the digest %s: it was changed under its version", policy.Default, d.Digest())
	}
}

// TestSet: documents are added; the same twice is once; another one under a known name and version is none.
func TestSet(t *testing.T) {
	s := shipped(t)
	before := s.IDs()
	folder := fstest.MapFS{
		"gold.json": {Data: []byte(whole)}, "again.json": {Data: []byte(strings.ReplaceAll(whole, "\n", " "))}, "README.md": {Data: []byte("no policy")},
		"old/gold.json": {Data: []byte("{}")},
	}
	if err := s.Load(folder); err != nil {
		t.Fatal(err)
	}
	if want := append(slices.Clone(before), "gold@3"); !slices.Equal(s.IDs(), want) {
		t.Errorf("%v, want %v", s.IDs(), want)
	}
	if d, err := s.Find("gold@3"); err != nil || d.Owner != "platform team" {
		t.Errorf("%+v, %v", d, err)
	}
	_, err := s.Find("gold@4")
	if unknown, is := errors.AsType[*policy.Unknown](err); !is || unknown.ID != "gold@4" || !slices.Equal(unknown.Known, s.IDs()) || !strings.Contains(err.Error(), policy.Default) {
		t.Errorf("an unknown version: %v", err)
	}
	err = s.Add("other.json", []byte(strings.Replace(whole, "7200", "7201", 1)))
	if conflict, is := errors.AsType[*policy.Conflict](err); !is || conflict.ID != "gold@3" || !strings.Contains(err.Error(), "other.json") {
		t.Errorf("another document under the same version: %v", err)
	}
	err = s.Load(fstest.MapFS{"default.json": {Data: []byte(strings.Replace(strings.Replace(whole, "gold", "default", 1), `"version": 3`, `"version": 1`, 1))}})
	if _, is := errors.AsType[*policy.Conflict](err); !is {
		t.Errorf("another default@1: %v", err)
	}
	if err := s.Load(fstest.MapFS{"x.json": {Data: []byte("{}")}}); !names(err, "owner") {
		t.Errorf("an invalid file: %v", err)
	}
	if err := s.Load(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is taken")
	}
	if err := s.Load(os.DirFS("nowhere")); err == nil {
		t.Error("a folder that is not there is taken")
	}
}
