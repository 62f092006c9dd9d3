package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// secretName is the attribute of a secret.
const secretName = "secret"

// Secret implements keyring.Store: the first process to need a secret stores its own,
// and everybody reads that one. It lies in the table without a stream, under the
// table's key.
func (l *Ledger) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	k := secretKey(name)
	it, err := l.get(ctx, l.tables.Private, k)
	if err == nil && it == nil && fresh == nil {
		return nil, nil
	}
	if err == nil && it == nil {
		x := (&expression{}).isNew().put(secretName, &types.AttributeValueMemberB{Value: fresh})
		err = l.update(ctx, l.tables.Private, k, x)
		if _, taken := errors.AsType[*refusal](err); taken {
			err = nil
		}
		if err == nil {
			it, err = l.get(ctx, l.tables.Private, k)
		}
	}
	if err != nil {
		return nil, err
	}
	return secretOf(name, it)
}

func secretOf(name string, it item) ([]byte, error) {
	kept, ok := it[secretName].(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("the item of secret %s holds none", name)
	}
	return kept.Value, nil
}

// Replace implements keyring.Store. A write whose answer was lost is recognised.
func (l *Ledger) Replace(ctx context.Context, name string, old, fresh []byte) (bool, error) {
	x := (&expression{}).exists().is(secretName, &types.AttributeValueMemberB{Value: old}).put(secretName, &types.AttributeValueMemberB{Value: fresh})
	err := l.update(ctx, l.tables.Private, secretKey(name), x)
	r, refused := errors.AsType[*refusal](err)
	if !refused {
		return err == nil, err
	}
	kept, err := secretOf(name, r.at(0).old)
	return err == nil && bytes.Equal(kept, fresh), nil
}
