package boot

import (
	"os"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/infra/kms"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// KeyStore is where a deployment's key ring lies, for operators who look after it from
// their own machine: the private table, and what makes a wrapper of a key's ARN. Region
// and credentials are those of the environment.
func KeyStore(privateTable string) (keyring.Store, func(arn string) (keyring.Wrapper, error), error) {
	v := newVariables(os.Environ())
	v.problems = nil // ours are not read here
	c := readAWS(v)
	if err := v.err(); err != nil {
		return nil, nil, err
	}
	wrapper := func(arn string) (keyring.Wrapper, error) { return kms.New(awskms.NewFromConfig(c), arn) }
	return dynamo.New(dynamodb.NewFromConfig(c), dynamo.Names{Private: privateTable}, dynamo.Options{}), wrapper, nil
}
