package seal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/seal"
)

func key(id string) seal.Key {
	return seal.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), seal.KeyBytes)}
}

func keys(t testing.TB, current seal.Key, older ...seal.Key) *seal.Keys {
	t.Helper()
	k, err := seal.NewKeys(current, older...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealed(t testing.TB, k *seal.Keys, plain, bound string) []byte {
	t.Helper()
	s, err := k.Seal(t.Context(), []byte(plain), bound)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpensOnlyInItsPlace(t *testing.T) {
	k := keys(t, key("one"))
	s := sealed(t, k, "secret", "here")
	if got, err := k.Open(t.Context(), s, "here"); err != nil || string(got) != "secret" {
		t.Errorf("opened %q, %v", got, err)
	}
	for _, bound := range []string{"", "there", "her", "heree"} {
		if got, err := k.Open(t.Context(), s, bound); !errors.Is(err, seal.ErrSealed) || got != nil {
			t.Errorf("at %q: opened %q, %v", bound, got, err)
		}
	}
	if bytes.Contains(s, []byte("secret")) {
		t.Error("the sealed value shows the secret")
	}
	if again := sealed(t, k, "secret", "here"); bytes.Equal(s, again) {
		t.Error("one secret sealed twice gives one value: readers could tell equal secrets")
	}
}

func TestEveryByteCounts(t *testing.T) {
	k := keys(t, key("one"), key("two"))
	s := sealed(t, k, "secret", "here")
	for i := range s {
		changed := slices.Clone(s)
		changed[i] ^= 1
		if got, err := k.Open(t.Context(), changed, "here"); err == nil {
			t.Errorf("opened %q with byte %d changed", got, i)
		}
		if got, err := k.Open(t.Context(), s[:i], "here"); err == nil {
			t.Errorf("opened %q from its first %d bytes", got, i)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	first := sealed(t, keys(t, key("one")), "secret", "here")
	both := keys(t, key("two"), key("one"))
	second := sealed(t, both, "secret", "here")
	for _, s := range [][]byte{first, second} {
		if got, err := both.Open(t.Context(), s, "here"); err != nil || string(got) != "secret" {
			t.Errorf("opened %q, %v", got, err)
		}
	}
	alone := keys(t, key("two"))
	if _, err := alone.Open(t.Context(), first, "here"); !errors.Is(err, seal.ErrKey) {
		t.Errorf("after the first key is gone: %v", err)
	}
	if _, err := alone.Open(t.Context(), second, "here"); err != nil {
		t.Errorf("the second value was not sealed with the current key: %v", err)
	}
	imposter := keys(t, seal.Key{ID: "two", Secret: key("other").Secret})
	if _, err := imposter.Open(t.Context(), second, "here"); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("another key of that name: %v", err)
	}
}

// Names and places of all lengths: head, place and content never share memory.
func TestLengths(t *testing.T) {
	for n := 1; n <= 64; n++ {
		k := keys(t, seal.Key{ID: strings.Repeat("n", n), Secret: key("one").Secret})
		for _, bound := range []string{"", "b", strings.Repeat("b", n)} {
			if got, err := k.Open(t.Context(), sealed(t, k, bound, bound), bound); err != nil || string(got) != bound {
				t.Errorf("a name of %d bytes at %q: %q, %v", n, bound, got, err)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	k := keys(t, key("one"))
	if _, err := k.Seal(t.Context(), make([]byte, seal.MaxBytes), ""); err != nil {
		t.Error(err)
	}
	if _, err := k.Seal(t.Context(), make([]byte, seal.MaxBytes+1), ""); !errors.Is(err, seal.ErrTooLong) {
		t.Errorf("a byte too many: %v", err)
	}
	for what, list := range map[string][]seal.Key{
		"no name":       {{Secret: key("one").Secret}},
		"a long name":   {{ID: strings.Repeat("n", 65), Secret: key("one").Secret}},
		"a short key":   {{ID: "one", Secret: make([]byte, 16)}},
		"a name twice":  {key("one"), key("one")},
		"a bad old one": {key("one"), {ID: "two"}},
	} {
		if _, err := seal.NewKeys(list[0], list[1:]...); !errors.Is(err, seal.ErrKey) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// kept is a value as it may lie in a store: "secret" at "here", sealed with key one.
const kept = "01036f6e65a95ae45a53fddda7b98636cc139dbf0dff550ffff595cccdf0761d2eafe97bb9e87b"

func TestOpensWhatWasKept(t *testing.T) {
	value, err := hex.DecodeString(kept)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keys(t, key("two"), key("one")).Open(t.Context(), value, "here"); err != nil || string(got) != "secret" {
		t.Errorf("opened %q, %v", got, err)
	}
}

// FuzzOpen: nothing that was not sealed opens, and nothing ends the process.
func FuzzOpen(f *testing.F) {
	k := keys(f, key("one"), key("two"))
	genuine, err := hex.DecodeString(kept) // the same in every process of the fuzzer
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine, "here")
	f.Add(genuine, "there")
	f.Add([]byte{}, "")
	f.Add([]byte{1, 255, 'o'}, "here")
	f.Add(append([]byte{1, 3}, "two"...), "here")
	f.Fuzz(func(t *testing.T, value []byte, bound string) {
		before := slices.Clone(value)
		got, err := k.Open(t.Context(), value, bound)
		if err == nil && (!bytes.Equal(value, genuine) || bound != "here" || string(got) != "secret") {
			t.Errorf("opened %x at %q: %q", value, bound, got)
		}
		if !bytes.Equal(before, value) {
			t.Errorf("opening changed the value")
		}
	})
}
