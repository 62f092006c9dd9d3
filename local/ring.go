package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/boot"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

const ringAbout = `[flags] ACT [USE]

Looks after a deployment's keys. USE is card, seal or webhook (shared/keyring says what
each is for and how it is replaced).

  list          say which keys there are; nothing secret is shown
  rotate USE    make the next key; those before it stay
  retire USE    drop the older ones, when the newest has been there for long enough
  wrap          have the key ring of a deployment on AWS wrapped by --kms-key

Of a data folder, which no server may be using, or with --table of a deployment on AWS.
Processes that run learn of a new key when they start anew.
`

// ringCommand is what is to be done with which keys.
type ringCommand struct {
	act  string
	use  keyring.Use
	data string
	// of a deployment on AWS
	table, key, from string
}

func parseKeys(args []string, logs io.Writer) (c ringCommand, err error) {
	f := flagSet("keys", ringAbout, logs)
	f.StringVar(&c.data, "data", ".holdfast", "data folder")
	f.StringVar(&c.table, "table", "", "private table of a deployment on AWS (the stack's output PrivateTable); region and credentials are those of the environment")
	f.StringVar(&c.key, "kms-key", "", "ARN of the key that wraps the ring of that deployment (its parameter KmsKeyArn)")
	f.StringVar(&c.from, "from-kms-key", "", "wrap: ARN of the key that has wrapped it until now")
	plain, err := parseAll(f, args)
	if err != nil {
		return c, err
	}
	needs := map[string]int{"list": 1, "rotate": 2, "retire": 2, "wrap": 1}
	if len(plain) == 0 || needs[plain[0]] != len(plain) {
		return c, fmt.Errorf("want list, rotate USE, retire USE or wrap, not %q", strings.Join(plain, " "))
	}
	if c.act = plain[0]; len(plain) == 2 {
		c.use = keyring.Use(plain[1])
	}
	switch {
	case (c.key != "" || c.from != "") && c.table == "":
		return c, errors.New("--kms-key and --from-kms-key are for a deployment on AWS: name its --table")
	case c.act == "wrap" && c.key == "":
		return c, errors.New("wrap needs --table and --kms-key")
	case c.from != "" && c.act != "wrap":
		return c, errors.New("--from-kms-key is for wrap")
	}
	return c, nil
}

// keys looks after the keys of a data folder, or of a deployment on AWS.
func keys(ctx context.Context, args []string, out, logs io.Writer) error {
	c, err := parseKeys(args, logs)
	if err != nil {
		return err
	}
	if c.table != "" {
		store, wrapper, err := boot.KeyStore(c.table)
		if err != nil {
			return err
		}
		return c.onAWS(ctx, store, wrapper, out)
	}
	book, err := sqlite.Open(c.data, sqlite.Options{}) // its lock says that no server has read the keys
	if err != nil {
		return err
	}
	return errors.Join(c.do(ctx, keyring.New(keyFolder(filepath.Join(c.data, "keys"))), out), book.Close())
}

func (c ringCommand) onAWS(ctx context.Context, store keyring.Store, wrapper func(string) (keyring.Wrapper, error), out io.Writer) error {
	var wrappers [2]keyring.Wrapper
	for i, arn := range []string{c.key, c.from} {
		if arn == "" {
			continue
		}
		var err error
		if wrappers[i], err = wrapper(arn); err != nil {
			return err
		}
	}
	if c.act == "wrap" {
		n, err := keyring.Rewrap(ctx, store, wrappers[1], wrappers[0])
		if err == nil {
			fmt.Fprintf(out, "%d secrets were replaced; the ring is wrapped by %s\n", n, c.key)
		}
		return err
	}
	if wrappers[0] != nil {
		store = keyring.Wrap(store, wrappers[0])
	}
	return c.do(ctx, keyring.New(store), out)
}

func (c ringCommand) do(ctx context.Context, ring *keyring.Ring, out io.Writer) error {
	switch c.act {
	case "rotate":
		n, err := ring.Rotate(ctx, c.use, time.Now())
		if err == nil {
			fmt.Fprintf(out, "key %d for %s is there; the older ones may go after %d days: local keys retire %s\n", n, c.use, int(keyring.Overlap[c.use].Hours()/24), c.use)
		}
		return err
	case "retire":
		n, err := ring.Retire(ctx, c.use, time.Now())
		if err == nil {
			fmt.Fprintf(out, "%d keys for %s were dropped\n", n, c.use)
		}
		return err
	}
	all, err := ring.Keys(ctx)
	for i, k := range all {
		since := "since the beginning"
		if !k.MadeAt.IsZero() {
			since = "since " + instant(k.MadeAt)
		}
		role := "newest"
		if i > 0 && all[i-1].Use == k.Use {
			role = "older"
		}
		fmt.Fprintf(out, "%-8s %d  %-6s  %s\n", k.Use, k.Number, role, since)
	}
	return err
}
