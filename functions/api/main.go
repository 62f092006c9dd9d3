// Command api is the Lambda function behind the REST API: the door.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/boot"
)

func main() {
	function, err := boot.API()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function)
}
