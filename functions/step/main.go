// Command step is the Lambda function of the states Run and Await: it runs agents' steps and
// parks executions.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/holdfast-a2a/holdfast/infra/boot"
)

func main() {
	function, err := boot.Step()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(function)
}
