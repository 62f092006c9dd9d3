package integration_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/infra/kms"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// TestSecret: processes that need a secret at the same time all get the same one, and
// so does whoever comes later, with whatever it brings.
func TestSecret(t *testing.T) {
	names := tables(t)
	got := make([][]byte, 16)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			secret, err := dynamo.New(client, names, quick).Secret(t.Context(), "page-1", bytes.Repeat([]byte{byte(i + 1)}, 32))
			if err != nil {
				t.Error(err)
			}
			got[i] = secret
		})
	}
	all.Wait()
	other, err := dynamo.New(client, names, quick).Secret(t.Context(), "page#1", []byte("other"))
	if err != nil || string(other) != "other" {
		t.Errorf("another name: %x, %v", other, err)
	}
	for _, secret := range got {
		if len(secret) != 32 || !bytes.Equal(secret, got[0]) {
			t.Errorf("%x and %x", secret, got[0])
		}
	}
}

// TestSecretReplaced: a secret is read without being made, and replaced once by whoever
// knows what is there; a write that is done again is recognised.
func TestSecretReplaced(t *testing.T) {
	l := dynamo.New(client, tables(t), quick)
	if none, err := l.Secret(t.Context(), "ring", nil); none != nil || err != nil {
		t.Errorf("there is %q, %v", none, err)
	}
	if done, err := l.Replace(t.Context(), "ring", []byte("old"), []byte("new")); done || err != nil {
		t.Errorf("nothing was replaced: %v, %v", done, err)
	}
	if _, err := l.Secret(t.Context(), "ring", []byte("old")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var won atomic.Int32
	for i := range 8 {
		all.Go(func() {
			done, err := l.Replace(t.Context(), "ring", []byte("old"), []byte{byte(i)})
			if err != nil {
				t.Error(err)
			}
			if done {
				won.Add(1)
			}
		})
	}
	all.Wait()
	kept, err := l.Secret(t.Context(), "ring", nil)
	if won.Load() != 1 || err != nil || len(kept) != 1 {
		t.Errorf("%d have replaced it, %q, %v", won.Load(), kept, err)
	}
	if done, err := l.Replace(t.Context(), "ring", []byte("old"), kept); !done || err != nil {
		t.Errorf("the same again: %v, %v", done, err)
	}
}

// Processes that begin at the same time, before there is a ring, have the same keys, as it
// is and wrapped by KMS; so have those that come after a rotation.
func TestRingRaces(t *testing.T) {
	key, err := awskms.NewFromConfig(configuration()).CreateKey(t.Context(), &awskms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	wrapper, err := kms.New(awskms.NewFromConfig(configuration()), aws.ToString(key.KeyMetadata.Arn))
	if err != nil {
		t.Fatal(err)
	}
	for name, wrap := range map[string]func(keyring.Store) keyring.Store{
		"as it is": func(s keyring.Store) keyring.Store { return s },
		"wrapped":  func(s keyring.Store) keyring.Store { return keyring.Wrap(s, wrapper) },
	} {
		t.Run(name, func(t *testing.T) {
			names := tables(t)
			ring := func() *keyring.Ring { return keyring.New(wrap(dynamo.New(client, names, quick))) }
			same := func(what string, n int) {
				t.Helper()
				got := make([]string, 12)
				var all sync.WaitGroup
				for i := range got {
					all.Go(func() {
						r := ring()
						code, err1 := r.Code(t.Context(), []byte("page"))
						hooks, err2 := r.Webhook(t.Context())
						if err := errors.Join(err1, err2); err != nil || len(hooks) != n {
							t.Errorf("%s: %d keys, %v", what, len(hooks), err)
						}
						got[i] = fmt.Sprintf("%x %v", code, hooks)
					})
				}
				all.Wait()
				for _, one := range got {
					if one != got[0] {
						t.Fatalf("%s: two processes have different keys", what)
					}
				}
			}
			same("at the beginning", 1)
			if n, err := ring().Rotate(t.Context(), keyring.Webhook, time.Now()); n != 2 || err != nil {
				t.Fatalf("%d, %v", n, err)
			}
			same("after a rotation", 2)
		})
	}
}
