package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

const (
	stackName = "holdfast"
	artifacts = "artifacts" // the bucket that packages go to
	region    = "us-east-1"
)

// cloud is the emulator and the stack in it.
type cloud struct {
	endpoint string
	outputs  map[string]string
	// resources are physical names by logical ones.
	resources map[string]string
}

// architectures of SAM by Go's names.
var architectures = map[string]string{"amd64": "x86_64", "arm64": "arm64"}

// build makes the functions for this machine, as the README says.
func (t *test) build(ctx context.Context) error {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("a Lambda function for %s does not exist", runtime.GOARCH)
	}
	_, fresh := os.Stat(".aws-sam")
	_, err := t.command(ctx, []string{"GOARCH=" + runtime.GOARCH, "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION=" + region},
		t.sam, "build", "--build-in-source", "--build-dir", t.built(), "--template-file", "template.yaml", "--parameter-overrides", "Architecture="+architecture)
	if os.IsNotExist(fresh) {
		_ = os.RemoveAll(".aws-sam") // sam's notes
	}
	return err
}

func (t *test) built(names ...string) string {
	return filepath.Join(append([]string{t.dir, "sam"}, names...)...)
}

// startEmulator gives the emulator an environment of its own: its functions inherit it.
func (t *test) startEmulator(ctx context.Context) error {
	addresses, err := driver.FreeAddresses(ctx, 1)
	if err != nil {
		return err
	}
	address := addresses[0]
	_, port, _ := strings.Cut(address, ":")
	t.cloud.endpoint = "http://" + address
	if err = t.start("ministack", append(t.account(),
		"PATH="+t.bin+":/usr/local/bin:/usr/bin:/bin", "HOME="+t.dir, "BIND_HOST=127.0.0.1", "IOT_MTLS_ENABLED=0", "GATEWAY_PORT="+port,
		"AUTH=true", // it evaluates the policies of the roles
	), filepath.Join(t.bin, "ministack")); err != nil {
		return err
	}
	return t.until(ctx, "ministack answers", readyTime, func(ctx context.Context) (bool, error) {
		a, err := ask(ctx, http.MethodGet, t.cloud.endpoint+"/_ministack/health", "", nil, nil)
		if err != nil || a.status != http.StatusOK {
			return false, err
		}
		var health struct {
			Auth string `json:"auth"`
		}
		if err := json.Unmarshal(a.body, &health); err != nil {
			return false, err
		}
		return health.Auth == "enabled", errors.New("it evaluates no policies")
	})
}

// account are the variables of the AWS CLI and of whatever calls the emulator.
func (t *test) account() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + t.cloud.endpoint, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=" + region,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=",
	}
}

// aws runs the AWS CLI and decodes its answer.
func (t *test) aws(ctx context.Context, into any, args ...string) error {
	out, err := t.command(ctx, t.account(), filepath.Join(t.bin, "aws"), append(args, "--output", "json")...)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// deploy packages and deploys as a user would.
func (t *test) deploy(ctx context.Context) error {
	for name, changes := range templateEdits {
		if err := rewrite(t.built(name), t.built(name), changes...); err != nil {
			return err
		}
	}
	var key struct {
		KeyMetadata struct{ Arn string }
	}
	if err := t.aws(ctx, &key, "kms", "create-key"); err != nil {
		return err
	}
	parameters, err := t.parameters(key.KeyMetadata.Arn)
	if err != nil {
		return err
	}
	packaged := filepath.Join(t.dir, "packaged.yaml")
	for _, args := range [][]string{
		{"s3api", "create-bucket", "--bucket", artifacts},
		{"cloudformation", "package", "--template-file", t.built("template.yaml"), "--s3-bucket", artifacts, "--output-template-file", packaged},
		{
			"cloudformation", "deploy", "--template-file", packaged, "--stack-name", stackName, "--s3-bucket", artifacts,
			"--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", "--parameter-overrides", "file://" + parameters,
		},
	} {
		if _, err := t.command(ctx, t.account(), filepath.Join(t.bin, "aws"), args...); err != nil {
			return err
		}
	}
	if err := t.describe(ctx); err != nil {
		return err
	}
	if err := t.publish(ctx); err != nil {
		return err
	}
	return t.route(ctx)
}

// parameters are what this deployment decides; everything else is as by default.
func (t *test) parameters(kmsKey string) (string, error) {
	key, entry, err := newKey()
	if err != nil {
		return "", err
	}
	t.key = key
	text, err := json.Marshal([]string{
		"Architecture=" + architectures[runtime.GOARCH], "Streaming=false", "Auth=keys", "ApiKeys=" + entry,
		"SystemsUrl=" + string(t.systems), "LogLevel=DEBUG", "DeletionProtection=false", "KmsKeyArn=" + kmsKey,
	})
	if err != nil {
		return "", err
	}
	file := filepath.Join(t.dir, "parameters.json")
	return file, os.WriteFile(file, text, 0o600)
}

func (t *test) describe(ctx context.Context) error {
	var stacks struct {
		Stacks []struct {
			StackStatus string
			Outputs     []struct{ OutputKey, OutputValue string }
		}
	}
	if err := t.aws(ctx, &stacks, "cloudformation", "describe-stacks", "--stack-name", stackName); err != nil {
		return err
	}
	t.cloud.outputs = map[string]string{}
	for _, o := range stacks.Stacks[0].Outputs {
		t.cloud.outputs[o.OutputKey] = o.OutputValue
	}
	var resources struct {
		StackResources []struct{ LogicalResourceId, PhysicalResourceId string } //nolint:staticcheck // AWS's names
	}
	if err := t.aws(ctx, &resources, "cloudformation", "describe-stack-resources", "--stack-name", stackName); err != nil {
		return err
	}
	t.cloud.resources = map[string]string{}
	for _, r := range resources.StackResources {
		t.cloud.resources[r.LogicalResourceId] = r.PhysicalResourceId
	}
	t.api = api{t: t, id: t.cloud.resources["Api"]}
	t.seen.resources = len(t.cloud.resources)
	return nil
}

// publish makes the versions and the aliases that the emulator's CloudFormation does not.
func (t *test) publish(ctx context.Context) error {
	for _, machine := range []string{"TaskMachine", "DeliveryMachine"} {
		var version struct{ StateMachineVersionArn string }
		if err := t.aws(ctx, &version, "stepfunctions", "publish-state-machine-version", "--state-machine-arn", t.cloud.resources[machine]); err != nil {
			return err
		}
		if err := t.aws(ctx, nil, "stepfunctions", "create-state-machine-alias", "--name", "live",
			"--routing-configuration", "stateMachineVersionArn="+version.StateMachineVersionArn+",weight=100"); err != nil {
			return err
		}
	}
	return nil
}

// route puts the methods that the emulator's import leaves out (edit routed).
func (t *test) route(ctx context.Context) error {
	var out struct {
		Items []struct {
			ID   string `json:"id"`
			Path string `json:"path"`
		} `json:"items"`
	}
	if err := t.aws(ctx, &out, "apigateway", "get-resources", "--rest-api-id", t.api.id); err != nil {
		return err
	}
	if len(out.Items) != 2 {
		return fmt.Errorf("the API has %d resources, want / and /{proxy+}", len(out.Items))
	}
	var function struct{ FunctionArn string }
	if err := t.aws(ctx, &function, "lambda", "get-function-configuration", "--function-name", t.cloud.resources["ApiFunction"]); err != nil {
		return err
	}
	uri := "arn:aws:apigateway:" + region + ":lambda:path/2015-03-31/functions/" + function.FunctionArn + "/invocations"
	for _, r := range out.Items {
		place := []string{"--rest-api-id", t.api.id, "--resource-id", r.ID, "--http-method", "ANY"}
		if err := t.aws(ctx, nil, append([]string{"apigateway", "put-method", "--authorization-type", "NONE"}, place...)...); err != nil {
			return err
		}
		if err := t.aws(ctx, nil, append([]string{"apigateway", "put-integration", "--type", "AWS_PROXY", "--integration-http-method", "POST", "--uri", uri}, place...)...); err != nil {
			return err
		}
	}
	return t.aws(ctx, nil, "apigateway", "create-deployment", "--rest-api-id", t.api.id, "--stage-name", "v1")
}
