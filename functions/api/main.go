// Command api is the Lambda function behind the REST API: the door.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/boot"
)

func main() {
	function, err := boot.API(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function)
}
