package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// edit is a change to the copy of a file that is deployed. Each must find its place, so that none outlives the file's
// text, and is printed with its reason.
type edit struct {
	what, why string
	find      *regexp.Regexp
	replace   string
}

// templateEdits are made in what sam has built, by the template's place there.
var templateEdits = map[string][]edit{
	"template.yaml":                          append(slices.Clone(machineEdits), networks),
	filepath.Join("Access", "template.yaml"): {qualifier, anyMachine, anyContext},
	filepath.Join("Alarms", "template.yaml"): {oneMetric},
}

var machineEdits = []edit{
	{
		"the state machines' versions and aliases are made by the AWS CLI after the deployment",
		"ministack's CloudFormation knows neither AWS::StepFunctions::StateMachineVersion nor StateMachineAlias; its Step Functions do",
		regexp.MustCompile(`(?m)^ *AutoPublishAlias: live\n`), "",
	},
	{
		"the outputs of the state machines name the machines",
		"as above: the aliases are no resources of the stack",
		regexp.MustCompile(`(Task|Delivery)MachineAliaslive`), "${1}Machine",
	},
}

// networks is in the environment of every function.
var networks = edit{
	"webhooks may lead to this machine",
	"its receiver is here, and loopback addresses are refused on AWS, where they are the runtime's own",
	regexp.MustCompile(`(?m)^( *)HOLDFAST_SYSTEMS_URL:`), "${1}HOLDFAST_WEBHOOK_NETWORKS: 127.0.0.0/8\n${1}HOLDFAST_SYSTEMS_URL:",
}

// qualifier is in every policy that starts executions.
var qualifier = edit{
	"the permission to start executions names the alias's ARN",
	"ministack holds a call through an alias against that ARN, where Step Functions takes the machine's and the condition key states:StateMachineQualifier",
	regexp.MustCompile(`(?m)^( *)Resource:\n *Ref: (StateMachine|DeliveryMachine)Arn\n *Condition:\n *ForAnyValue:StringEquals:\n *states:StateMachineQualifier:\n *Ref: StateMachineAlias\n`),
	"${1}Resource:\n${1}  Fn::Sub: '$${${2}Arn}:$${StateMachineAlias}'\n",
}

// anyMachine is in every policy that resumes them.
var anyMachine = edit{
	"executions of any machine may be resumed",
	"ministack does not say which machine a callback token belongs to when it asks the policy",
	regexp.MustCompile(`(?m)^( *)Action: states:SendTaskSuccess\n *Resource:\n *Ref: StateMachineArn\n`),
	"${1}Action: states:SendTaskSuccess\n${1}Resource: '*'\n",
}

// anyContext is in the policies of those who open the key ring.
var anyContext = edit{
	"who may use the key to open the key ring may do so whatever the encryption context",
	"ministack does not tell a policy what the encryption context is; its KMS does hold what was encrypted against it",
	regexp.MustCompile(`(?m)^ *Condition:\n *StringEquals:\n *kms:EncryptionContext:holdfast: keyring\n`), "",
}

// oneMetric is in every alarm that reckons with several metrics.
var oneMetric = edit{
	"alarms that reckon with several metrics look at one",
	"ministack's CloudFormation refuses metric math, and the whole stack with it",
	regexp.MustCompile(`(?m)^      Metrics:\n(?:      - .*\n|        .*\n)+`),
	"      Namespace: Holdfast\n      MetricName: Reckoned\n      Statistic: Maximum\n      Period: 60\n",
}

// routed is done after the deployment instead of in the template.
var routed = edit{
	what: "both routes get their method ANY by the AWS CLI after the deployment, with the template's integration",
	why:  "ministack's import of an OpenAPI definition reads past x-amazon-apigateway-any-method",
}

// nextVersion is an edit of later builds: a release with a new version of an agent.
var nextVersion = edit{
	"for the rolling deploy, the agent hello has version 2",
	"there must be a version that the other function does not know",
	regexp.MustCompile(`agent\.New\("hello", 1,`), `agent.New("hello", 2,`,
}

// shortPause is an edit of the last build.
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
	"permissions: every call of a function is held against its role's policy here, but by ministack's reading of IAM; the state machine's role, API Gateway's permission and the bucket's policy are not looked at",
	"the stream mapping's retries, bisection, record age, partial responses and failure queue: ministack stores them and ignores them",
	"TTL: ministack's CloudFormation does not switch it on, and what it removes leaves no stream record, so the filter for expiry markers passes nothing here",
	"reserved concurrency, point-in-time recovery, encryption and throttling: ministack's CloudFormation reads past them",
	"arm64: the functions are built for this machine",
	"custom domain, X-Ray: off, as by default; the KMS key wraps the key ring, and what it does for tables and bucket is read past",
}

func (e edit) apply(text []byte) ([]byte, error) {
	if !e.find.Match(text) {
		return nil, fmt.Errorf("the edit %q finds nothing to change: correct infra/deploytest/edits.go", e.what)
	}
	return e.find.ReplaceAll(text, []byte(e.replace)), nil
}

// rewrite makes changes on the way from one file to another, which may be the same.
func rewrite(from, to string, changes ...edit) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	for _, e := range changes {
		if text, err = e.apply(text); err != nil {
			return err
		}
	}
	return os.WriteFile(to, text, 0o600) //nolint:gosec // both are named in this program
}

// listGaps prints what this run proves nothing about.
func (t *test) listGaps() {
	t.say("changed for the emulator:")
	for _, e := range append(slices.Clone(machineEdits), networks, qualifier, anyMachine, anyContext, routed, nextVersion, literalTimeout, shortPause) {
		fmt.Fprintf(t.out, "          - %s: %s\n", e.what, e.why)
	}
	t.say("not shown by this test, since the emulator cannot:")
	for _, gap := range gaps {
		fmt.Fprintf(t.out, "          - %s\n", gap)
	}
}
