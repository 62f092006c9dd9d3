package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Where the server is.
const (
	dynamoVariable = "HOLDFAST_DYNAMODB_ENDPOINT"
	blobsVariable  = "HOLDFAST_S3_ENDPOINT"
)

var (
	dynamoEndpoint = os.Getenv(dynamoVariable)
	blobsEndpoint  = os.Getenv(blobsVariable)
)

func TestMain(m *testing.M) {
	for _, name := range []string{dynamoVariable, blobsVariable} {
		if os.Getenv(name) == "" {
			fmt.Fprintln(os.Stderr, name+" is not set: these tests need a server that speaks DynamoDB's and S3's protocols. Start one with infra/emulator/start.sh, which prints the lines to set both.")
			os.Exit(1)
		}
	}
	code := m.Run()
	removeBinaries()
	os.Exit(code)
}

// configuration reaches an endpoint over connections of its own, as another process
// would. The server believes every signature.
func configuration(endpoint string) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: newTransport(), Timeout: time.Minute},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	}
}

// The tests' own view of the server, past every proxy.
var (
	tableClient  = dynamodb.NewFromConfig(configuration(dynamoEndpoint))
	streamClient = dynamodbstreams.NewFromConfig(configuration(dynamoEndpoint))
	bucketClient = s3.NewFromConfig(configuration(blobsEndpoint), func(o *s3.Options) { o.UsePathStyle = true })
)
