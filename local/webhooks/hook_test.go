package main

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A webhook that nobody has signed, or that was changed on its way, is none.
func TestReads(t *testing.T) {
	s := &sender{}
	for i := range byte(2) {
		s.private = append(s.private, ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), i)))
	}
	public, _ := s.private[0].Public().(ed25519.PublicKey)
	for _, c := range []struct {
		want  string
		spoil func(m message) message
	}{
		{"", func(m message) message { return m }},
		{"", func(message) message { return s.update("T", 7, s.private[1], s.private[0]) }},
		{"signed by nobody", func(message) message { return s.update("T", 7, s.private[1]) }},
		{"signed by nobody", func(m message) message { m.header.Set("Webhook-Id", "msg_other"); return m }},
		{"signed by nobody", func(m message) message {
			m.body = []byte(strings.Replace(string(m.body), "WORKING", "FAILED", 1))
			return m
		}},
		{"signed by nobody", func(m message) message { m.header.Del("Webhook-Signature"); return m }},
		{"without a sequence", func(m message) message { m.header.Del("Holdfast-Sequence"); return m }},
		{"brings update 7", func(m message) message { m.header.Set("Holdfast-Sequence", "8"); return m }},
		{"was signed at", func(m message) message { return s.signed("msg_a", 7, m.body, time.Now().Add(-time.Hour)) }},
		{"another token", func(m message) message { m.header.Del("A2A-Notification-Token"); return m }},
		{"no update", func(message) message { return s.signed("msg_a", 7, []byte("{}"), time.Now()) }},
	} {
		m := c.spoil(s.update("T", 7))
		seq, id, state, err := read(m.header, m.body, []ed25519.PublicKey{public}, time.Now())
		if c.want == "" && (err != nil || seq != 7 || id != "msg_T-7" || state != stateWorking) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %s %s %v, want %q", seq, id, state, err, c.want)
		}
	}
}

// What comes side by side, or unsigned, is not sound.
func TestSound(t *testing.T) {
	h := &hook{}
	if err := h.sound(); err != nil {
		t.Error(err)
	}
	h.most = 2
	if err := h.sound(); err == nil {
		t.Error("two attempts were open at once")
	}
	h = &hook{wrong: []error{nil, http.ErrNotSupported, nil}}
	if err := h.sound(); err == nil {
		t.Error("one of them proves nothing")
	}
}
