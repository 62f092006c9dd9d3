package keyring

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/seal"
)

// Wrapper wraps short secrets under a key that it never gives out.
type Wrapper interface {
	Wrap(ctx context.Context, plain []byte) ([]byte, error)
	Unwrap(ctx context.Context, wrapped []byte) ([]byte, error)
}

// rootName is the name of the root key, which is all that the wrapper sees.
const rootName = "root-1"

// wrapped is a store whose secrets are sealed under a root key.
type wrapped struct {
	Store

	wrapper Wrapper
	mu      sync.Mutex
	root    *seal.Keys // once it was unwrapped
}

// Wrap is a store over another one, in which everything lies sealed. What is there
// unsealed is refused, for whoever writes to the store could have put it there: Rewrap
// takes a ring over.
func Wrap(s Store, w Wrapper) Store { return &wrapped{Store: s, wrapper: w} }

// open unwraps the root key, or makes it.
func (w *wrapped) open(ctx context.Context) (*seal.Keys, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.root != nil {
		return w.root, nil
	}
	kept, err := w.Store.Secret(ctx, rootName, nil)
	if err != nil {
		return nil, err
	}
	var root []byte
	if kept == nil {
		root = random()
		fresh, err := w.wrapper.Wrap(ctx, root)
		if err != nil {
			return nil, err
		}
		if kept, err = w.Store.Secret(ctx, rootName, fresh); err != nil {
			return nil, err
		}
		if !bytes.Equal(kept, fresh) { // somebody else came first
			root = nil
		}
	}
	if root == nil {
		if root, err = w.wrapper.Unwrap(ctx, kept); err != nil {
			return nil, err
		}
	}
	w.root, err = seal.NewKeys(seal.Key{ID: rootName, Secret: root})
	return w.root, err
}

// bound is what a secret is sealed to, so that none passes for another.
func bound(name string) string { return "keyring " + name }

// Secret implements Store.
func (w *wrapped) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	root, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := w.Store.Secret(ctx, name, nil)
	if err != nil || kept == nil && fresh == nil {
		return nil, err
	}
	if kept == nil {
		sealed, err := root.Seal(ctx, fresh, bound(name))
		if err != nil {
			return nil, err
		}
		if kept, err = w.Store.Secret(ctx, name, sealed); err != nil {
			return nil, err
		}
	}
	plain, err := root.Open(ctx, kept, bound(name))
	if err != nil {
		return nil, fmt.Errorf("%s lies in its store unwrapped, or was put there by somebody else (a ring is taken over by: local keys wrap): %w", name, err)
	}
	return plain, nil
}

// Replace implements Store.
func (w *wrapped) Replace(ctx context.Context, name string, old, fresh []byte) (bool, error) {
	root, err := w.open(ctx)
	if err != nil {
		return false, err
	}
	kept, err := w.Store.Secret(ctx, name, nil)
	if err != nil {
		return false, err
	}
	if plain, err := root.Open(ctx, kept, bound(name)); err != nil || !bytes.Equal(plain, old) {
		return false, nil //nolint:nilerr // what cannot be opened is not what was read: somebody else has replaced it
	}
	sealed, err := root.Seal(ctx, fresh, bound(name))
	if err != nil {
		return false, err
	}
	return w.Store.Replace(ctx, name, kept, sealed)
}

// Rewrap has a ring wrapped from now on: one that was not (from is nil), or one whose root
// key another wrapper has wrapped. What is done already is left alone, so that it can be
// done again where it was broken off. It says how many secrets it has replaced.
func Rewrap(ctx context.Context, s Store, from, to Wrapper) (replaced int, err error) {
	if from != nil {
		old, err := s.Secret(ctx, rootName, nil)
		if err != nil {
			return 0, err
		}
		if old == nil {
			return 0, errors.New("there is no wrapped key ring in this store")
		}
		root, err := from.Unwrap(ctx, old)
		if err != nil {
			return 0, err
		}
		fresh, err := to.Wrap(ctx, root)
		if err != nil {
			return 0, err
		}
		return replace(ctx, s, rootName, old, fresh)
	}
	over := &wrapped{Store: s, wrapper: to}
	root, err := over.open(ctx)
	if err != nil {
		return 0, err
	}
	l, err := readList(ctx, s)
	if err != nil { // it is wrapped already
		if l, err = readList(ctx, over); err != nil {
			return 0, err
		}
	}
	names := []string{listName} // at last: until then the others are found by it
	for _, use := range uses {
		for _, k := range l.of(use) {
			names = append([]string{keyName(use, k.Number)}, names...)
		}
	}
	for _, name := range names {
		plain, err := s.Secret(ctx, name, nil)
		if err != nil {
			return replaced, err
		}
		if _, err := root.Open(ctx, plain, bound(name)); plain == nil || err == nil {
			continue
		}
		sealed, err := root.Seal(ctx, plain, bound(name))
		n := 0
		if err == nil {
			n, err = replace(ctx, s, name, plain, sealed)
		}
		if replaced += n; err != nil {
			return replaced, err
		}
	}
	return replaced, nil
}

func replace(ctx context.Context, s Store, name string, old, fresh []byte) (int, error) {
	done, err := s.Replace(ctx, name, old, fresh)
	if err != nil || !done {
		return 0, cmp.Or(err, fmt.Errorf("%s was changed meanwhile: try again", name))
	}
	return 1, nil
}
