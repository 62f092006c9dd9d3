package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
)

// flagSet is for the flags of a command: how it is called and what it does come before
// them in its usage.
func flagSet(name, about string, logs io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(logs)
	f.Usage = func() {
		fmt.Fprintf(logs, "usage: local %s %s\n", name, about)
		f.PrintDefaults()
	}
	return f
}

// parseAll reads flags that may follow the arguments.
func parseAll(f *flag.FlagSet, args []string) (plain []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, usage(err)
		}
		if f.NArg() == 0 {
			return plain, nil
		}
		plain, args = append(plain, f.Arg(0)), f.Args()[1:]
	}
}

// errUsage is a command line that cannot be understood.
var errUsage = errors.New("see the usage above")

func usage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w: %w", err, errUsage)
}

// defaultServer is the server of this machine.
func defaultServer() string {
	return "http://127.0.0.1:" + cmp.Or(os.Getenv("HOLDFAST_PORT"), "8080")
}

func checkServer(address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--server %q: an address such as http://127.0.0.1:8080 is needed", address)
	}
	return nil
}
