package keyring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// listName is the name of the list of keys. Without one, each use has its first key.
const listName = "ring"

// list says which keys a ring has: for each use, the newest first.
type list struct {
	Uses map[Use][]Key `json:"uses"`

	raw []byte // as it was read; nil: there is none
}

// Key is a key of a ring, without what is secret.
type Key struct {
	Use    Use `json:"-"`
	Number int `json:"n"`
	// MadeAt is when it came to the others; zero for the first.
	MadeAt time.Time `json:"at,omitzero"`
}

func readList(ctx context.Context, s Store) (list, error) {
	raw, err := s.Secret(ctx, listName, nil)
	if err != nil {
		return list{}, fmt.Errorf("the list of keys: %w", err)
	}
	l := list{Uses: map[Use][]Key{}, raw: raw}
	if raw == nil {
		return l, nil
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return list{}, fmt.Errorf("the list of keys cannot be read: its store was changed by somebody else, or its keys are wrapped and the key service is not configured")
	}
	return l, nil
}

func (l list) of(use Use) []Key {
	if keys := l.Uses[use]; len(keys) > 0 {
		return keys
	}
	return []Key{{Use: use, Number: 1}}
}

// with is the list with other keys of a use.
func (l list) with(use Use, keys []Key) ([]byte, error) {
	next := list{Uses: map[Use][]Key{}}
	for _, u := range uses {
		if next.Uses[u] = l.of(u); u == use {
			next.Uses[u] = keys
		}
	}
	return json.Marshal(next)
}

// maxRounds bounds how often a list is read again because somebody else wrote it.
const maxRounds = 5

// change reads the list anew, and puts another one in its place.
func (r *Ring) change(ctx context.Context, use Use, next func(keys []Key) ([]Key, error)) error {
	if _, ok := Overlap[use]; !ok {
		return fmt.Errorf("keys for %q are not replaced: there are card, seal and webhook", use)
	}
	for range maxRounds {
		l, err := readList(ctx, r.store)
		if err != nil {
			return err
		}
		keys, err := next(l.of(use))
		if err != nil {
			return err
		}
		raw, err := l.with(use, keys)
		if err != nil {
			return err
		}
		if l.raw == nil {
			// First it is written down that no key was replaced, which is the same whoever
			// does: two who replace the same key in the same second would write one list.
			none, err := l.with(use, l.of(use))
			if err != nil {
				return err
			}
			if l.raw, err = r.store.Secret(ctx, listName, none); err != nil {
				return err
			}
			if !bytes.Equal(l.raw, none) {
				continue
			}
		}
		done := bytes.Equal(l.raw, raw)
		if !done {
			done, err = r.store.Replace(ctx, listName, l.raw, raw)
		}
		if err != nil || done {
			r.again()
			return err
		}
	}
	return errors.New("the list of keys changes all the time: somebody else replaces keys as well")
}

// Keys are all that a ring has, use by use, the newest first.
func (r *Ring) Keys(ctx context.Context) (out []Key, err error) {
	l, err := readList(ctx, r.store)
	if err != nil {
		return nil, err
	}
	for _, use := range uses {
		for _, k := range l.of(use) {
			k.Use = use
			out = append(out, k)
		}
	}
	return out, nil
}

// maxKeys is how many keys of one use there may be: each signs every delivery.
const maxKeys = 4

// Rotate makes the next key of a use, and says its number. It seals from now on; signed is
// with it and those before it.
func (r *Ring) Rotate(ctx context.Context, use Use, now time.Time) (number int, err error) {
	err = r.change(ctx, use, func(keys []Key) ([]Key, error) {
		if len(keys) >= maxKeys {
			return nil, fmt.Errorf("there are %d keys for %s already: retire the older ones", len(keys), use)
		}
		number = keys[0].Number + 1
		// It is there before anybody can hear of it.
		if _, err := r.store.Secret(ctx, keyName(use, number), random()); err != nil {
			return nil, err
		}
		return slices.Concat([]Key{{Number: number, MadeAt: now.UTC().Truncate(time.Second)}}, keys), nil
	})
	return number, err
}

// Overlap is how long the newest key of a use must have been there before the others may
// go. Those that sign: until receivers and clients have fetched the new public key, and
// every process has heard of it. Those that seal: until no task is left whose webhooks'
// secrets they have sealed (the longest life, 90 days, and the longest retention).
var Overlap = map[Use]time.Duration{Card: 7 * day, Webhook: 7 * day, Seal: 150 * day}

const day = 24 * time.Hour

// Retire drops the keys of a use but the newest, and says how many.
func (r *Ring) Retire(ctx context.Context, use Use, now time.Time) (dropped int, err error) {
	err = r.change(ctx, use, func(keys []Key) ([]Key, error) {
		dropped = len(keys) - 1
		if end := keys[0].MadeAt.Add(Overlap[use]); dropped > 0 && now.Before(end) {
			return nil, fmt.Errorf("key %d for %s is too young: the older ones may go on %s", keys[0].Number, use, end.Format(time.DateOnly))
		}
		return keys[:1], nil
	})
	return dropped, err
}
