package keyring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// spied is a store that remembers what was written to it.
type spied struct {
	keyring.Memory

	mu      sync.Mutex
	written map[string][]byte
}

// Secret implements keyring.Store.
func (s *spied) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	kept, err := s.Memory.Secret(ctx, name, fresh)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == nil {
		s.written = map[string][]byte{}
	}
	if fresh != nil {
		s.written[name] = kept
	}
	return kept, err
}

// use has a ring do everything that it does.
func use(t *testing.T, r *keyring.Ring) (results []byte) {
	t.Helper()
	ctx := t.Context()
	code, err1 := r.Code(ctx, []byte("page"))
	hooks, err2 := r.Webhook(ctx)
	set, err3 := r.KeySet(ctx)
	sealed, err4 := r.Seal(ctx, []byte("secret"), "place")
	opened, err5 := r.Open(ctx, sealed, "place")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	return fmt.Append(nil, code, hooks, string(set), string(opened))
}

// One call of the service makes a ring, one opens it for a process, and nothing that the
// ring does costs another. What lies in the store opens nothing.
func TestWrappedRing(t *testing.T) {
	store, maker := &spied{}, &service{}
	first := keyring.New(keyring.Wrap(store, maker))
	want := use(t, first)
	if maker.wraps != 1 || maker.unwraps != 0 {
		t.Errorf("to make a ring: %d and %d calls", maker.wraps, maker.unwraps)
	}
	opener := &service{}
	second := keyring.New(keyring.Wrap(store, opener))
	for range 10 {
		if got := use(t, second); !bytes.Equal(got, want) {
			t.Fatal("another process has other keys")
		}
	}
	if opener.wraps != 0 || opener.unwraps != 1 {
		t.Errorf("to open it: %d and %d calls", opener.wraps, opener.unwraps)
	}
	if len(store.written) != 5 { // the root and four uses
		t.Errorf("written are %d secrets", len(store.written))
	}
	code, err := first.Code(t.Context(), []byte("page"))
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range store.written {
		if bytes.Contains(kept, maker.seen) {
			t.Errorf("%s holds the root key", name)
		}
		// What lies there is no key.
		var lone keyring.Memory
		if _, err := lone.Secret(t.Context(), "page-1", kept); err != nil {
			t.Fatal(err)
		}
		if got, err := keyring.New(&lone).Code(t.Context(), []byte("page")); err == nil && bytes.Equal(got, code) {
			t.Errorf("%s is a key as it is", name)
		}
	}
}

// Processes that begin at the same time, before there is a ring, have the same one.
func TestWrappedRingRaces(t *testing.T) {
	for range 20 {
		store := &keyring.Memory{}
		got := make([][]byte, 8)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				code, err := keyring.New(keyring.Wrap(store, &service{})).Code(t.Context(), []byte("page"))
				if err != nil {
					t.Error(err)
				}
				got[i] = code
			})
		}
		all.Wait()
		for _, code := range got {
			if len(code) == 0 || !bytes.Equal(code, got[0]) {
				t.Fatal("two processes have different keys")
			}
		}
	}
}

// Whoever can write to the store cannot plant a key, move one to another use, or bring an
// old one back under another name.
func TestWrappedRingIsNotFooled(t *testing.T) {
	ctx := t.Context()
	plant := func(change func(store *spied)) error {
		store := &spied{}
		use(t, keyring.New(keyring.Wrap(store, &service{})))
		change(store)
		_, err := keyring.New(keyring.Wrap(store, &service{})).Webhook(ctx)
		return err
	}
	put := func(store *spied, name string, fresh []byte) {
		t.Helper()
		if done, err := store.Replace(ctx, name, store.written[name], fresh); !done || err != nil {
			t.Fatal("the test's own write failed", err)
		}
	}
	for name, change := range map[string]func(*spied){
		"a key of one's own": func(s *spied) { put(s, "webhook-1", bytes.Repeat([]byte{7}, 32)) },
		"another use's key":  func(s *spied) { put(s, "webhook-1", s.written["seal-1"]) },
		"another root":       func(s *spied) { put(s, "root-1", append([]byte{0}, bytes.Repeat([]byte{7}, 32)...)) },
		"a list":             func(s *spied) { _, _ = s.Memory.Secret(ctx, "ring", []byte(`{"uses":{"webhook":[{"n":9}]}}`)) },
		"a cut key":          func(s *spied) { put(s, "webhook-1", s.written["webhook-1"][:20]) },
	} {
		if err := plant(change); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := plant(func(*spied) {}); err != nil {
		t.Errorf("nothing was changed: %v", err)
	}
}

// A service that is away is asked again; one that is not configured is missed.
func TestWrappedRingTrouble(t *testing.T) {
	store, s := &keyring.Memory{}, &service{err: errAway}
	ring := keyring.New(keyring.Wrap(store, s))
	if _, err := ring.Code(t.Context(), nil); !errors.Is(err, errAway) {
		t.Errorf("error %v", err)
	}
	s.err = nil
	use(t, ring)
	if _, err := keyring.New(store).Code(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "key service is not configured") {
		t.Errorf("without the service: %v", err)
	}
	if _, err := keyring.New(keyring.Wrap(store, &service{key: 1})).Code(t.Context(), nil); err == nil {
		t.Error("another key unwraps it")
	}
}

// A ring that was not wrapped is taken over, also where that was broken off at any point,
// and so is one that another key has wrapped. Its keys stay what they are.
func TestRewrap(t *testing.T) {
	for broken := range 8 {
		store, ctx := &failing{after: broken}, t.Context()
		plain := keyring.New(&store.Memory)
		use(t, plain)
		if _, err := plain.Rotate(ctx, keyring.Webhook, begin); err != nil {
			t.Fatal(err)
		}
		want := use(t, keyring.New(&store.Memory))
		one, two := &service{}, &service{key: 1}
		n, err := keyring.Rewrap(ctx, store, nil, one)
		if fails := broken < 6; fails != (err != nil) || !fails && n != 6 { // five keys and the list
			t.Fatalf("broken off after %d: %d replaced, %v", broken, n, err)
		}
		store.after = 1000
		if _, err := keyring.Rewrap(ctx, store, nil, one); err != nil {
			t.Fatalf("broken off after %d, again: %v", broken, err)
		}
		if n, err := keyring.Rewrap(ctx, store, nil, one); n != 0 || err != nil {
			t.Errorf("a third time: %d, %v", n, err)
		}
		if got := use(t, keyring.New(keyring.Wrap(store, one))); !bytes.Equal(got, want) {
			t.Errorf("broken off after %d: the keys are others", broken)
		}
		if n, err := keyring.Rewrap(ctx, store, one, two); n != 1 || err != nil {
			t.Errorf("to another key: %d, %v", n, err)
		}
		if got := use(t, keyring.New(keyring.Wrap(store, two))); !bytes.Equal(got, want) {
			t.Error("the keys are others under another key")
		}
		if _, err := keyring.New(keyring.Wrap(store, one)).Code(ctx, nil); err == nil {
			t.Error("the first key unwraps it still")
		}
	}
	if _, err := keyring.Rewrap(t.Context(), &keyring.Memory{}, &service{}, &service{}); err == nil {
		t.Error("there was nothing to be wrapped anew")
	}
}

// failing is a store whose replacements fail after some.
type failing struct {
	keyring.Memory

	after int
}

// Replace implements keyring.Store.
func (f *failing) Replace(ctx context.Context, name string, old, fresh []byte) (bool, error) {
	if f.after--; f.after < 0 {
		return false, errAway
	}
	return f.Memory.Replace(ctx, name, old, fresh)
}
