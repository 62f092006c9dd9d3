package kms_test

// KMS is a fake behind its protocol (AWS JSON 1.1): what leaves the process, and what is
// made of the answers, is real. That the service binds what it wraps to the key and the
// context is its promise; the fake keeps it, so that a request without them fails here.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/infra/kms"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

const (
	arn   = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	other = "arn:aws:kms:eu-west-1:123456789012:key/00000000-12ab-34cd-56ef-1234567890ab"
)

// fake keeps what it encrypts under a number.
type fake struct {
	mu    sync.Mutex
	kept  []sealed
	calls map[string]int
	down  int // requests that it refuses
}

type sealed struct {
	KeyID             string            `json:"KeyId"` //nolint:tagliatelle // KMS's names
	Plaintext         []byte            `json:"Plaintext"`
	CiphertextBlob    []byte            `json:"CiphertextBlob"`
	EncryptionContext map[string]string `json:"EncryptionContext"`
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	refuse := func(status int, kind string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": "as the service says"})
	}
	body, err := io.ReadAll(r.Body)
	var in sealed
	if err != nil || json.Unmarshal(body, &in) != nil {
		refuse(http.StatusBadRequest, "SerializationException")
		return
	}
	action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	f.calls[action]++
	if f.down > 0 {
		f.down--
		refuse(http.StatusInternalServerError, "KMSInternalException")
		return
	}
	var out sealed
	switch action {
	case "Encrypt":
		in.CiphertextBlob = []byte{byte(len(f.kept))}
		f.kept = append(f.kept, in)
		out = sealed{KeyID: in.KeyID, CiphertextBlob: in.CiphertextBlob}
	case "Decrypt":
		if len(in.CiphertextBlob) != 1 || int(in.CiphertextBlob[0]) >= len(f.kept) {
			refuse(http.StatusBadRequest, "InvalidCiphertextException")
			return
		}
		was := f.kept[in.CiphertextBlob[0]]
		if in.KeyID != was.KeyID {
			refuse(http.StatusBadRequest, "IncorrectKeyException")
			return
		}
		if !maps.Equal(in.EncryptionContext, was.EncryptionContext) {
			refuse(http.StatusBadRequest, "InvalidCiphertextException")
			return
		}
		out = sealed{KeyID: in.KeyID, Plaintext: was.Plaintext}
	default:
		refuse(http.StatusBadRequest, "UnknownOperationException")
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(out)
}

func newKey(t *testing.T, f *fake, arn string) *kms.Key {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	k, err := kms.New(awskms.NewFromConfig(aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")}), arn)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is wrapped is bound to the key and to the context that policies name.
func TestWrap(t *testing.T) {
	f := &fake{calls: map[string]int{}}
	k := newKey(t, f, arn)
	wrapped, err := k.Wrap(t.Context(), []byte("root"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.kept[0]; got.KeyID != arn || !maps.Equal(got.EncryptionContext, map[string]string{"holdfast": "keyring"}) || string(got.Plaintext) != "root" {
		t.Errorf("the service was given %+v", got)
	}
	if plain, err := k.Unwrap(t.Context(), wrapped); err != nil || string(plain) != "root" {
		t.Errorf("unwrapped %q, %v", plain, err)
	}
	if _, err := newKey(t, f, other).Unwrap(t.Context(), wrapped); err == nil || strings.Contains(err.Error(), "root\"") {
		t.Errorf("another key: %v", err)
	}
	f.kept[0].EncryptionContext = map[string]string{"aws:dynamodb:tableName": "holdfast"}
	if _, err := k.Unwrap(t.Context(), wrapped); err == nil {
		t.Error("what was encrypted for something else is unwrapped")
	}
	f.down = 1 // a fault of the service's is tried again
	if _, err := k.Wrap(t.Context(), []byte("root")); err != nil {
		t.Errorf("a passing fault: %v", err)
	}
}

// A ring costs one call to make and one for each process that opens it, whatever it does.
func TestCalls(t *testing.T) {
	f, store := &fake{calls: map[string]int{}}, &keyring.Memory{}
	var codes [][]byte
	for range 3 {
		ring := keyring.New(keyring.Wrap(store, newKey(t, f, arn)))
		for range 5 {
			code, err := ring.Code(t.Context(), []byte("page"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ring.Webhook(t.Context()); err != nil {
				t.Fatal(err)
			}
			sealed, err := ring.Seal(t.Context(), []byte("secret"), "place")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ring.Open(t.Context(), sealed, "place"); err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
	}
	if f.calls["Encrypt"] != 1 || f.calls["Decrypt"] != 2 || len(f.calls) != 2 {
		t.Errorf("calls: %v", f.calls)
	}
	for _, c := range codes {
		if !bytes.Equal(c, codes[0]) {
			t.Fatalf("processes have different keys: %s", base64.StdEncoding.EncodeToString(c))
		}
	}
}

func TestARN(t *testing.T) {
	for text, want := range map[string]bool{
		arn: true, "arn:aws-cn:kms:cn-north-1:123456789012:key/mrk-1234": true,
		"": false, "1234abcd-12ab-34cd-56ef-1234567890ab": false, "alias/holdfast": false,
		"arn:aws:kms:eu-west-1:123456789012:alias/holdfast": false, "arn:aws:s3:::key/x": false,
	} {
		if got := kms.IsKey(text); got != want {
			t.Errorf("%q is a key: %v", text, got)
		}
		if _, err := kms.New(nil, text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
