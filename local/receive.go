package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/events/receiver"
	"github.com/holdfast-a2a/holdfast/local/playground"
)

const (
	defaultReceiverAddr = "127.0.0.1:8091"
	// receivedFile is where serve --receiver keeps what it took, in the data folder.
	receivedFile = "received.ndjson"
)

// receive takes webhooks on this machine.
func receive(ctx context.Context, args []string, out, logs io.Writer) error {
	f := flagSet("receive", "[flags]\n\nTakes webhooks, verifies them and prints what they are. HOLDFAST_WEBHOOK_TOKEN is the token that they are configured with.", logs)
	server := f.String("server", defaultServer(), "address of the server that sends, where its keys are")
	addr := f.String("addr", defaultReceiverAddr, "address to take webhooks on")
	state := f.String("state", ".holdfast-"+receivedFile, "file of what was taken")
	fail := f.String("fail", "", "what becomes of the first requests, such as \"500 500/30 hang reset lost\"")
	asJSON := f.Bool("json", false, "print each request as a line of JSON")
	list := f.Bool("list", false, "print what was taken, in order, one line of JSON each, and end")
	if err := f.Parse(args); err != nil {
		return usage(err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	inbox, err := receiver.OpenInbox(*state)
	if err != nil {
		return err
	}
	defer func() { _ = inbox.Close() }() // every update is synced
	if *list {
		return listTaken(inbox, out)
	}
	r := receiving{addr: *addr, advice: "choose another address with --addr", server: *server, token: os.Getenv("HOLDFAST_WEBHOOK_TOKEN"), fail: *fail, inbox: inbox, json: *asJSON}
	stop, err := r.start(ctx, out)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

func listTaken(inbox *receiver.Inbox, out io.Writer) error {
	list, err := inbox.Updates()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for _, u := range list {
		if err := lines.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// receiving is a receiver to be started.
type receiving struct {
	addr, server, token, fail string
	// advice is for an address that cannot be had.
	advice string
	inbox  *receiver.Inbox
	json   bool
}

// start serves until stop is called.
func (r receiving) start(ctx context.Context, out io.Writer) (stop func(), err error) {
	keys, err := receiver.KeysAt(strings.TrimSuffix(r.server, "/")+"/.well-known/webhook-keys.json", time.Now)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	handler := playground.New(playground.Config{Keys: keys, Store: r.inbox, Token: r.token, Now: time.Now, Tell: func(one playground.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !r.json {
			_, _ = fmt.Fprintln(out, printable(playground.Line(one)))
			return
		}
		_ = json.NewEncoder(out).Encode(one) // whether somebody reads it changes nothing
	}})
	if _, err := handler.Fail(r.fail); err != nil {
		return nil, fmt.Errorf("--fail: %w", err)
	}
	listener, err := listen(ctx, "the receiver of webhooks", r.addr, r.advice)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: loopbackOnly(handler), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	stop = background(server, listener, "the receiver of webhooks:", out)
	mu.Lock()
	defer mu.Unlock()
	fmt.Fprintf(out, "webhooks are taken on http://%s\n", listener.Addr())
	return stop, nil
}

// startReceiver is the receiver of serve --receiver, which takes what this same server
// sends.
func startReceiver(ctx context.Context, addr, path, server string, out io.Writer) (stop func(), err error) {
	inbox, err := receiver.OpenInbox(path)
	if err != nil {
		return nil, err
	}
	end, err := receiving{addr: addr, advice: "choose another address with --receiver-addr, or leave --receiver out", server: server, inbox: inbox}.start(ctx, out)
	if err != nil {
		return nil, errors.Join(err, inbox.Close())
	}
	return func() {
		end()
		_ = inbox.Close() // every update is synced
	}, nil
}
