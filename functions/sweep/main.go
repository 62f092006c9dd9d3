// Command sweep is the Lambda function of the schedule: whatever time alone made due.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/boot"
)

func main() {
	function, err := boot.Sweep()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function)
}
