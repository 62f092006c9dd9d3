package boot

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// readAWS takes region, credentials and endpoints from the environment, where Lambda
// puts them (Working with Lambda environment variables). The SDK's own search through
// files, single sign-on and instance metadata would find nothing there, and makes
// every binary larger by more than a megabyte.
func readAWS(v *variables) aws.Config {
	env, err := config.NewEnvConfig()
	if err != nil {
		v.problems = append(v.problems, errors.New("the AWS_ variables cannot be read: one of the SDK's own settings has a value that it does not take"))
	}
	if env.Region == "" {
		v.problems = append(v.problems, errors.New("AWS_REGION is not set: Lambda sets it; elsewhere give it the region of the tables"))
	}
	if !env.Credentials.HasKeys() {
		v.problems = append(v.problems, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set: Lambda sets them; elsewhere give them the keys of a role"))
	}
	c := aws.Config{HTTPClient: dynamo.NewHTTPClient(), Region: env.Region, Credentials: credentials.StaticCredentialsProvider{Value: env.Credentials}, ConfigSources: []any{env}}
	if env.BaseEndpoint != "" {
		c.BaseEndpoint = &env.BaseEndpoint
	}
	return c
}
