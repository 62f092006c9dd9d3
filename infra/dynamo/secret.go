package dynamo

import (
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
	kept, ok := it[secretName].(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("the item of secret %s holds none", name)
	}
	return kept.Value, nil
}
