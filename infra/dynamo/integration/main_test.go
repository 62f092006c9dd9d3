// The ledger on a server that speaks DynamoDB's protocol.
//
// Real: the server, its transactions, indexes and stream. Every test has tables
// of its own. What may be asserted is the port's contract; nothing may depend on
// a server being weaker than DynamoDB. Start one with infra/emulator/start.sh and
// say where it is: HOLDFAST_DYNAMODB_ENDPOINT=http://127.0.0.1:4566.
package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

const endpointVariable = "HOLDFAST_DYNAMODB_ENDPOINT"

var endpoint = os.Getenv(endpointVariable)

func TestMain(m *testing.M) {
	if endpoint == "" {
		fmt.Fprintln(os.Stderr, endpointVariable+" is not set: these tests need a DynamoDB-compatible server. Start one with infra/emulator/start.sh, which prints the line to set it.")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// configuration is for a server that believes every signature.
func configuration() aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(endpoint), HTTPClient: dynamo.HTTPClient{Client: &http.Client{Transport: &fresh{}}},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}
}

var (
	client  = dynamodb.NewFromConfig(configuration())
	streams = dynamodbstreams.NewFromConfig(configuration())
)

// quick looks more often than callers do, and is patient with a server that has
// to share its machine.
var quick = dynamo.Options{
	PollFirst: 15 * time.Millisecond, PollMost: 200 * time.Millisecond, Streams: streams,
	Retry: dynamo.Retry{Attempt: 20 * time.Second, Total: time.Minute},
}

// timeless makes tables without TTL: the tests' clocks stand still in the past,
// and a server that goes by its own removes what they have just written.
type timeless struct{ *dynamodb.Client }

func (timeless) UpdateTimeToLive(context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return &dynamodb.UpdateTimeToLiveOutput{}, nil
}

// tables makes the two tables of a test.
func tables(t *testing.T) dynamo.Names {
	t.Helper()
	return tablesBy(t, timeless{client})
}

// tablesBy makes tables through a client, and removes them when the test ends.
func tablesBy(t *testing.T, by dynamo.TableAPI) dynamo.Names {
	t.Helper()
	id := a2a.NewContextID()
	names := dynamo.Names{Tasks: "tasks-" + id, Private: "private-" + id}
	if err := dynamo.CreateTables(t.Context(), by, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{names.Tasks, names.Private} {
			_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
			// The client asks again when an answer is lost.
			if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
				t.Errorf("removing table %s: %v", name, err)
			}
		}
	})
	return names
}
