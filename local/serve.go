package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/policy"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// stopTime bounds a graceful stop: open streams end, running steps commit where
// they are.
const stopTime = 10 * time.Second

// settings are the flags of serve, read once.
type settings struct {
	addr         string
	data         string
	systems      bool
	systemsAddr  string
	systemsURL   string
	receiver     bool
	receiverAddr string
	dynamoDB     string
	timing       node.Timing
	// networks are called by webhooks besides public addresses.
	networks []netip.Prefix
	// outside are agents that are served from outside.
	outside []*agent.Agent
	// issuers give out authorization receipts.
	issuers []receipt.Issuer
	// policies are the documents by which tasks are judged.
	policies *policy.Set
	// metrics is the file that they are written to, empty for none.
	metrics string
}

func parseServe(args []string, logs io.Writer) (settings, error) {
	shipped, err := policy.Shipped()
	if err != nil {
		return settings{}, err
	}
	s := settings{policies: shipped, timing: node.DefaultTiming(), networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.SetOutput(logs)
	f.StringVar(&s.addr, "addr", "127.0.0.1:"+cmp.Or(os.Getenv("HOLDFAST_PORT"), "8080"), "address to serve on; loopback only, for there is no authentication")
	f.StringVar(&s.data, "data", ".holdfast", "folder of the ledger and the blobs")
	f.BoolVar(&s.systems, "systems", false, "also serve the systems of the worked example")
	f.StringVar(&s.systemsAddr, "systems-addr", defaultSystemsAddr, "with --systems, the address to serve them on")
	f.StringVar(&s.systemsURL, "systems-url", "", "where the systems of the worked example are (default at --systems-addr)")
	f.BoolVar(&s.receiver, "receiver", false, "also take webhooks, and print what they are")
	f.StringVar(&s.receiverAddr, "receiver-addr", defaultReceiverAddr, "with --receiver, the address to take them on")
	f.StringVar(&s.dynamoDB, "dynamodb-endpoint", os.Getenv("DYNAMODB_ENDPOINT"), "keep tasks on a DynamoDB-compatible server instead of the data folder, such as http://127.0.0.1:8000")
	f.Func("webhook-networks", "networks that webhooks may lead to besides public addresses (default this machine's, 127.0.0.0/8,::1/128)", func(text string) (err error) {
		s.networks, err = parseNetworks(text)
		return err
	})
	f.Func("receipt-issuer", "issuer of authorization receipts and where its keys are, as ISS=FILE or ISS=https://… (a JWK Set); may be given several times. Its receipts have the audience "+receiptAudience, func(text string) error {
		issuer, err := parseIssuer(text)
		s.issuers = append(s.issuers, issuer)
		return err
	})
	f.Func("outside", "name of an agent that is served from outside, by workers that report events, or NAME=POLICY with the policy of its tasks, such as scan=gold@3; may be given several times", func(text string) error {
		name, judged, _ := strings.Cut(text, "=")
		if !agent.IsName(name) {
			return fmt.Errorf("%q is no name for an agent", name)
		}
		s.outside = append(s.outside, agent.Outside(name, 1, agent.Card{Description: "Served from outside."}).KeyedByMessageID().Under(judged))
		return nil
	})
	policiesFlag(f, s.policies)
	f.DurationVar(&s.timing.Lease, "lease", s.timing.Lease, "how long a lease lasts without renewal")
	f.DurationVar(&s.timing.Renewal, "renewal", s.timing.Renewal, "how often a lease is renewed")
	f.DurationVar(&s.timing.Grace, "grace", s.timing.Grace, "how long the sweep leaves alone what should go on by itself")
	f.DurationVar(&s.timing.Late, "health-late", s.timing.Late, "how late the sweep, and what it should have done, may be before a light is red")
	f.DurationVar(&s.timing.Window, "health-window", s.timing.Window, "how long a light shows an event that is over")
	f.StringVar(&s.metrics, "metrics", "", "file to which metrics are written, a line of CloudWatch's embedded metric format each; none by default")
	f.DurationVar(&s.timing.Sweep, "sweep", s.timing.Sweep, "how often the sweep runs")
	if err := f.Parse(args); err != nil {
		return s, usage(err)
	}
	s.systemsURL = cmp.Or(s.systemsURL, "http://"+s.systemsAddr)
	var problems []error
	for _, at := range [][2]string{{"--addr", s.addr}, {"--systems-addr", s.systemsAddr}, {"--receiver-addr", s.receiverAddr}} {
		if _, err := auth.NewLoopback(at[1], node.Tenant); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", at[0], err))
		}
	}
	if _, err := verifier(s.issuers, time.Now); err != nil {
		problems = append(problems, err)
	}
	if f.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	if s.timing.Renewal <= 0 || s.timing.Renewal*2 > s.timing.Lease {
		problems = append(problems, fmt.Errorf("--renewal %s must be at most half of --lease %s", s.timing.Renewal, s.timing.Lease))
	}
	if s.timing.Grace <= 0 || s.timing.Sweep <= 0 {
		problems = append(problems, errors.New("--grace and --sweep must be positive"))
	}
	if s.timing.Late <= 0 || s.timing.Window <= 0 {
		problems = append(problems, errors.New("--health-late and --health-window must be positive"))
	}
	return s, errors.Join(problems...)
}

// policiesFlag adds the documents of folders.
func policiesFlag(f *flag.FlagSet, set *policy.Set) {
	f.Func("policies", "folder of policies, a document in each file *.json, besides those that are shipped; may be given several times", func(folder string) error {
		return set.Load(os.DirFS(folder))
	})
}

// parseNetworks reads networks separated by commas; none of them is a list too.
func parseNetworks(text string) (out []netip.Prefix, err error) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is no network such as 10.0.0.0/8", part)
		}
		out = append(out, prefix)
	}
	return out, nil
}

func serve(ctx context.Context, args []string, out, logs io.Writer) (err error) {
	s, err := parseServe(args, logs)
	if err != nil {
		return err
	}
	logger, closeLog, err := openLog(logs, s.metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	node.TuneMemory()
	store, err := openStorage(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	connections, err := os.OpenFile(filepath.Join(s.data, "connections.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the connection log: %w", err)
	}
	defer func() { _ = connections.Close() }()
	agents, err := catalog.Shipped(s.systemsURL, s.outside...)
	if err != nil {
		return err
	}
	callers, err := auth.NewLoopback(s.addr, node.Tenant)
	if err != nil {
		return err
	}
	receipts, err := verifier(s.issuers, time.Now)
	if err != nil {
		return err
	}
	n, err := node.New(node.Config{
		Ledger: store.ledger, Blobs: store.blobs, Catalog: agents, HoldersGone: store.alone, Timing: s.timing, Logger: logger,
		Now: time.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Secret: secret, Rand: mathrand.Float64,
		Connections: connections, Churn: node.Churn(connections.Name()), Callers: callers, Ring: keyring.New(store.keys), Guard: webhook.Guard{Allow: s.networks, AllowHTTP: true},
		Receipts: receipts, Policies: s.policies,
	})
	if err != nil {
		return err
	}
	listener, err := listen(ctx, "the server", s.addr, "choose another port with HOLDFAST_PORT, or another address with --addr")
	if err != nil {
		return err
	}
	if s.systems {
		stopSystems, err := startSystems(s.systemsAddr, events.AccessReviewCSV, "choose another address with --systems-addr, or leave --systems out", out)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer stopSystems()
	}
	if s.receiver {
		stopReceiver, err := startReceiver(ctx, s.receiverAddr, filepath.Join(s.data, receivedFile), "http://"+listener.Addr().String(), out)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer stopReceiver()
	}
	if err := n.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(out, "holdfast serves %v on http://%s, %s, process %d\n", agents.Names(), listener.Addr(), store.where, os.Getpid())
	fmt.Fprintf(out, "the console is at http://%s/console\n", listener.Addr())
	n.Handler = loopbackOnly(n.Handler)
	return n.Serve(ctx, listener, stopTime)
}

// secret is a callback token: 256 random bits.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}
