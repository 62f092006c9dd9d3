// Package kms wraps the root key of a deployment's key ring by AWS KMS.
//
// KMS sees that key and nothing else, once when it is made and once for each process that
// opens the ring; what the ring's keys do then costs no call. The wrapped key says by its
// encryption context what it is: whoever may use the KMS key for something else (a table
// that it encrypts, another program's secrets) cannot open the ring with that permission,
// and a policy can name the context. The context does not name a table: a ring is opened
// in a table that was restored under another name as well.
package kms

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// Context is the encryption context of what is wrapped here; infra/access.yaml names it.
var Context = map[string]string{"holdfast": "keyring"}

// Client is the part of *kms.Client that is needed.
type Client interface {
	Encrypt(ctx context.Context, in *kms.EncryptInput, options ...func(*kms.Options)) (*kms.EncryptOutput, error)
	Decrypt(ctx context.Context, in *kms.DecryptInput, options ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// Key is a symmetric key of KMS.
type Key struct {
	client Client
	arn    string
}

var _ keyring.Wrapper = (*Key)(nil)

// New takes a client and the key's ARN. An alias would do for wrapping, and hide that
// what is wrapped needs the old key once the alias has moved.
func New(client Client, arn string) (*Key, error) {
	if !IsKey(arn) {
		return nil, fmt.Errorf("kms: %q is no ARN of a key, such as arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab", arn)
	}
	return &Key{client, arn}, nil
}

// IsKey says whether text is the ARN of a key.
func IsKey(text string) bool {
	parts := strings.SplitN(text, ":", 6)
	return len(parts) == 6 && parts[0] == "arn" && parts[2] == "kms" && strings.HasPrefix(parts[5], "key/")
}

// Wrap implements keyring.Wrapper.
func (k *Key) Wrap(ctx context.Context, plain []byte) ([]byte, error) {
	out, err := k.client.Encrypt(ctx, &kms.EncryptInput{KeyId: aws.String(k.arn), Plaintext: plain, EncryptionContext: maps.Clone(Context)})
	if err != nil {
		return nil, fmt.Errorf("wrapping the root key: %w", err)
	}
	return out.CiphertextBlob, nil
}

// Unwrap implements keyring.Wrapper. The key is named, so that what another key has
// wrapped is refused, whoever may use that one.
func (k *Key) Unwrap(ctx context.Context, wrapped []byte) ([]byte, error) {
	out, err := k.client.Decrypt(ctx, &kms.DecryptInput{KeyId: aws.String(k.arn), CiphertextBlob: wrapped, EncryptionContext: maps.Clone(Context)})
	if err != nil {
		return nil, fmt.Errorf("unwrapping the root key: %w", err)
	}
	return out.Plaintext, nil
}
