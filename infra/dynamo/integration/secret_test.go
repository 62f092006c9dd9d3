package integration_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
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
