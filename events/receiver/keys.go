package receiver

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// publicPrefix is Standard Webhooks' mark of a public Ed25519 key.
const publicPrefix = "whpk_"

// Keys are the public keys of a deployment, as it publishes them.
type Keys struct {
	url    string
	now    func() time.Time
	client *http.Client

	fetching sync.Mutex // held during a fetch; guards failed and failedAt
	failed   error
	failedAt time.Time

	mu        sync.Mutex
	keys      []ed25519.PublicKey
	fetchedAt time.Time
}

// KeysAt is where the keys are: /.well-known/webhook-keys.json of the deployment. Who can
// change them on the way can sign, so it has to be https, except on this machine.
func KeysAt(address string, now func() time.Time) (*Keys, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("the address of the keys, %q, is not https", address)
	}
	client := &http.Client{
		Timeout:       fetchTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Keys{url: address, now: now, client: client}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// atMost are keys that are not older than that. They are fetched if there are none.
func (k *Keys) atMost(ctx context.Context, old time.Duration) ([]ed25519.PublicKey, error) {
	if keys := k.known(old); keys != nil {
		return keys, nil
	}
	k.fetching.Lock() // one at a time; the others take what it has brought
	defer k.fetching.Unlock()
	if keys := k.known(old); keys != nil {
		return keys, nil
	}
	if k.failed != nil && k.now().Sub(k.failedAt) < fetchAgain {
		return nil, k.failed
	}
	keys, err := k.fetch(ctx)
	if err != nil {
		err = fmt.Errorf("the keys of the sender cannot be had: %w", err)
		if ctx.Err() == nil { // not because this caller went away
			k.failed, k.failedAt = err, k.now()
		}
		return nil, err
	}
	k.failed = nil
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.fetchedAt = keys, k.now()
	return keys, nil
}

func (k *Keys) known(old time.Duration) []ed25519.PublicKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.fetchedAt) >= old {
		return nil
	}
	return k.keys
}

// fetch reads {"keys":["whpk_…"]}. What is no key that we can use is left out: there may
// be others one day.
func (k *Keys) fetch(ctx context.Context) ([]ed25519.PublicKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", k.url, resp.Status)
	}
	var published struct {
		Keys []string `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxKeysBytes)).Decode(&published); err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for _, text := range published.Keys {
		raw, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(text, publicPrefix))
		if err == nil && strings.HasPrefix(text, publicPrefix) && len(raw) == ed25519.PublicKeySize && len(keys) < maxKeys {
			keys = append(keys, raw)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it publishes none that can be used")
	}
	return keys, nil
}
