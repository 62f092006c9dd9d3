// Command function does what its event says.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
)

type event struct {
	Do   string `json:"do"`
	Text string `json:"text"`
}

func main() {
	if os.Getenv("FAIL_AT_START") != "" {
		fmt.Fprintln(os.Stderr, "cannot start")
		os.Exit(4)
	}
	lambda.Start(func(ctx context.Context, e event) (any, error) {
		switch e.Do {
		case "fail":
			return nil, errors.New(e.Text)
		case "panic":
			panic(e.Text)
		case "hang":
			fmt.Println("hanging")
			select {}
		case "large":
			return strings.Repeat("x", 7<<20), nil
		case "environment":
			return os.Environ(), nil
		}
		_, limited := ctx.Deadline()
		return map[string]any{"text": e.Text, "limited": limited}, nil
	})
}
