package boot

import (
	"context"
	"fmt"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// Names of the tables that a laptop's process makes for itself.
const (
	laptopTasks   = "holdfast-tasks"
	laptopPrivate = "holdfast-private"
)

// LaptopLedger is the DynamoDB ledger on a server at an endpoint, such as
// DynamoDB Local. It makes the tables where they are absent and reads the change
// feed through the Streams API. The credentials are made up: such servers want
// some and check none.
func LaptopLedger(ctx context.Context, endpoint string) (*dynamo.Ledger, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, fmt.Errorf("%q is no DynamoDB endpoint: give it one such as http://127.0.0.1:8000", endpoint)
	}
	c := aws.Config{HTTPClient: dynamo.NewHTTPClient(), Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	client := dynamodb.NewFromConfig(c)
	names := dynamo.Names{Tasks: laptopTasks, Private: laptopPrivate}
	if err := dynamo.CreateTables(ctx, client, names); err != nil {
		return nil, fmt.Errorf("the tables at %s: %w", endpoint, err)
	}
	return dynamo.New(client, names, dynamo.Options{Streams: dynamodbstreams.NewFromConfig(c)}), nil
}
