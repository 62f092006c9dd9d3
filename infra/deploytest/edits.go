package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// edit is a change to the copy of the template that is deployed. Each must find its place, so that none outlives the
// template's text, and is printed with its reason.
type edit struct {
	what, why string
	find      *regexp.Regexp
	replace   string
}

var edits = []edit{
	{
		"the state machine's version and alias are made by the AWS CLI after the deployment",
		"ministack's CloudFormation knows neither AWS::StepFunctions::StateMachineVersion nor StateMachineAlias; its Step Functions do",
		regexp.MustCompile(`(?m)^ *AutoPublishAlias: live\n`), "",
	},
	{
		"the output StateMachine names the machine",
		"as above: the alias is no resource of the stack",
		regexp.MustCompile(`TaskMachineAliaslive`), "TaskMachine",
	},
}

// routed is done after the deployment instead of in the template.
var routed = edit{
	what: "both routes get their method ANY by the AWS CLI after the deployment, with the template's integration",
	why:  "ministack's import of an OpenAPI definition reads past x-amazon-apigateway-any-method",
}

// shortPause is the edit of the second build, by an overlay of the Go compiler: the tree stays as it is.
var shortPause = edit{
	"for the deadline, pauses of the access review last " + answerTime.String(),
	"the shipped agent asks for seven days",
	regexp.MustCompile(`answerTime( +)= 7 \* 24 \* time\.Hour`), fmt.Sprintf("answerTime$1= %d * time.Second", int(answerTime.Seconds())),
}

// literalTimeout is the edit of the state machine that goes with it.
var literalTimeout = edit{
	"for the deadline, the state Await has TimeoutSeconds instead of TimeoutSecondsPath",
	"ministack ignores TimeoutSecondsPath on a callback state and would wait for more than a day",
	regexp.MustCompile(`"TimeoutSecondsPath": "\$\.outcome\.seconds"`), fmt.Sprintf(`"TimeoutSeconds": %d`, int(parkTime.Seconds())),
}

// gaps are what the emulator cannot do at all; what proves it instead.
var gaps = []string{
	"streaming: ministack's REST API buffers every answer, so the stack is deployed with Streaming=false; frames that leave one by one are proven on our Runtime API host (make integration)",
	"permissions: ministack checks no policy by default; that each role allows what its function calls is compared by infra/policy_test.go, and nothing but AWS itself can prove it",
	"the stream mapping's retries, bisection, record age, partial responses and failure queue: ministack stores them and ignores them",
	"TTL: ministack's CloudFormation does not switch it on, and what it removes leaves no stream record, so the filter for expiry markers passes nothing here",
	"reserved concurrency, point-in-time recovery, encryption and throttling: ministack's CloudFormation reads past them",
	"arm64: the functions are built for this machine",
	"custom domain, KMS key, X-Ray: off, as by default",
}

func (e edit) apply(text []byte) ([]byte, error) {
	if !e.find.Match(text) {
		return nil, fmt.Errorf("the edit %q finds nothing to change: correct infra/deploytest/edits.go", e.what)
	}
	return e.find.ReplaceAll(text, []byte(e.replace)), nil
}

// edited writes a changed copy of a file into the test's folder.
func (t *test) edited(from, name string, changes ...edit) (string, error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	for _, e := range changes {
		if text, err = e.apply(text); err != nil {
			return "", err
		}
	}
	to := filepath.Join(t.dir, name)
	return to, os.WriteFile(to, text, 0o600)
}

// listGaps prints what this run proves nothing about.
func (t *test) listGaps() {
	t.say("changed for the emulator:")
	for _, e := range append(append([]edit{}, edits...), routed, literalTimeout, shortPause) {
		fmt.Fprintf(t.out, "          - %s: %s\n", e.what, e.why)
	}
	t.say("not shown by this test, since the emulator cannot:")
	for _, gap := range gaps {
		fmt.Fprintf(t.out, "          - %s\n", gap)
	}
}
