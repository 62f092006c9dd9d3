// Command stream is the Lambda function of the table's stream.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/boot"
)

func main() {
	function, err := boot.Stream()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function)
}
