// Package infra_test compares the templates, as they stand in the tree, with what they must promise and with the code
// that relies on them. What cfn-lint, the SAM translator and sam build have to say is asked by infra/checks/template.sh;
// the rules here are those that no validator knows, and they need nothing but Go.
//
// Nothing is faked: the templates are read as text, the tables are asked of infra/dynamo itself, the state machine is
// the deployed file. What CloudFormation makes of a template may not be asserted here; make deploy-test looks at that.
package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/statemachine"
)

// rule is one promise about the templates; it gives its violations.
type rule struct {
	name  string
	check func(*testing.T, stacks) []string
}

var rules = []rule{
	{"references lead somewhere", checkReferences},
	{"nested stacks get their parameters", checkNested},
	{"parameters are explained", checkParameters},
	{"the API streams", checkStreaming},
	{"functions are complete", checkFunctions},
	{"policies name what they allow", checkPolicies},
	{"tables are those of the ledger", checkTables},
	{"nothing secret is streamed or public", checkSecrets},
	{"the stream mapping gives up", checkMapping},
	{"filters let through what is handled", checkFilters},
	{"the state machines are wired", checkMachines},
	{"the key opens the ring for those who need it", checkKey},
	{"the environment is what the code reads", checkEnvironment},
	{"what is watched has an alarm", checkAlarms},
}

func TestTemplatesKeepTheRules(t *testing.T) {
	all := load(t, nil)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, violation := range r.check(t, all) {
				t.Error(violation)
			}
		})
	}
}

// checkParameters: whoever deploys is asked about each parameter, so each has a sentence and a default, and does something.
func checkParameters(_ *testing.T, all stacks) (violations []string) {
	for name := range child(all[root].doc, "Parameters") {
		p := child(all[root].doc, "Parameters", name)
		if _, ok := p["Default"]; !ok {
			violations = append(violations, fmt.Sprintf("parameter %s has no default", name))
		}
		if len(fmt.Sprint(p["Description"])) < 20 {
			violations = append(violations, fmt.Sprintf("parameter %s has no description", name))
		}
	}
	return violations
}

// checkStreaming looks for the very words: a mode that API Gateway does not know gives a buffered API, and no validator says so.
func checkStreaming(_ *testing.T, all stacks) (violations []string) {
	api := all[root].resource("Api")
	if got := show(api.properties["EndpointConfiguration"]); got != "{Type: REGIONAL}" {
		violations = append(violations, "the API's endpoint is "+got)
	}
	if got, want := api.properties["OpenApiVersion"], child(api.properties, "DefinitionBody")["openapi"]; got != want || got == nil {
		violations = append(violations, fmt.Sprintf("OpenApiVersion is %v, the definition's is %v: SAM then makes a stage of its own", got, want))
	}
	if api.properties["AlwaysDeploy"] != true {
		violations = append(violations, "without AlwaysDeploy the parameter Streaming would not reach the stage")
	}
	if got := show(child(api.properties, "DefinitionBody")["x-amazon-apigateway-binary-media-types"]); got != "[*/*]" {
		violations = append(violations, "bodies would be changed on their way: binary media types are "+got)
	}
	paths := child(api.properties, "DefinitionBody", "paths")
	if got := slices.Sorted(maps.Keys(paths)); !slices.Equal(got, []string{"/", "/{proxy+}"}) {
		violations = append(violations, fmt.Sprintf("the API's routes are %q", got))
	}
	const uri = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/%s/functions/${ApiFunction.Arn}/%s"
	for route := range paths {
		integration := child(paths, route, "x-amazon-apigateway-any-method", "x-amazon-apigateway-integration")
		for property, want := range map[string]string{
			"responseTransferMode": "{Fn::If: [Streams, STREAM, BUFFERED]}",
			"timeoutInMillis":      "{Fn::If: [Streams, 900000, 29000]}",
			"uri": "{Fn::If: [Streams, {Fn::Sub: " + fmt.Sprintf(uri, "2021-11-15", "response-streaming-invocations") + "}, {Fn::Sub: " +
				fmt.Sprintf(uri, "2015-03-31", "invocations") + "}]}",
			"type": "aws_proxy", "httpMethod": "POST",
		} {
			if got := show(integration[property]); got != want {
				violations = append(violations, fmt.Sprintf("route %s has %s %s, want %s", route, property, got, want))
			}
		}
	}
	if got := show(child(all[root].doc, "Conditions")["Streams"]); got != "{Fn::Equals: [{Ref: Streaming}, true]}" {
		violations = append(violations, "Streams is "+got)
	}
	if child(all[root].doc, "Parameters", "Streaming")["Default"] != "true" {
		violations = append(violations, "the API does not stream by default")
	}
	for _, setting := range list(api.properties["MethodSettings"]) {
		got := show(setting)
		for _, want := range []string{"HttpMethod: *", "ResourcePath: /*", "DataTraceEnabled: false", "ThrottlingRateLimit: {Ref: RequestRate}", "ThrottlingBurstLimit: {Ref: RequestBurst}"} {
			if !strings.Contains(got, want) {
				violations = append(violations, "the stage's settings lack "+want)
			}
		}
	}
	return violations
}

// functions are the logical IDs by the folder that holds the main.
var functions = map[string]string{"api": "ApiFunction", "step": "StepFunction", "settle": "SettleFunction", "stream": "StreamFunction", "deliver": "DeliverFunction", "sweep": "SweepFunction"}

// folders below functions that have a main.
func mains(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("../functions")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func checkFunctions(t *testing.T, all stacks) (violations []string) {
	if got, want := mains(t), slices.Sorted(maps.Keys(functions)); !slices.Equal(got, want) {
		violations = append(violations, fmt.Sprintf("functions in the tree are %q, in the template %q", got, want))
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	globals := child(all[root].doc, "Globals", "Function")
	found := map[string]bool{}
	for _, f := range all[root].resources("AWS::Serverless::Function") {
		found[f.id] = true
		say := func(format string, args ...any) {
			violations = append(violations, f.id+": "+fmt.Sprintf(format, args...))
		}
		for _, property := range []string{"Runtime", "Handler", "Architectures", "Tracing", "MemorySize", "Timeout", "ReservedConcurrentExecutions", "Description", "Role", "CodeUri"} {
			if f.properties[property] == nil && globals[property] == nil {
				say("no %s", property)
			}
		}
		if _, otherwise, ok := branches(f.properties["ReservedConcurrentExecutions"], "Reserves"); !ok || show(otherwise) != "{Ref: AWS::NoValue}" {
			say("reserved concurrency is %s", show(f.properties["ReservedConcurrentExecutions"]))
		}
		if child(f.whole, "Metadata")["BuildMethod"] != "makefile" {
			say("not built by the Makefile")
		}
		if !regexp.MustCompile(`(?m)^(build-\w+ )*build-` + f.id + `( build-\w+)*:`).Match(makefile) {
			say("the Makefile has no target build-%s", f.id)
		}
		name := strings.ToLower(strings.TrimSuffix(f.id, "Function"))
		if functions[name] != f.id {
			say("no folder functions/%s", name)
		}
		if got, want := show(f.properties["Role"]), "{Fn::GetAtt: [Access, Outputs."+strings.TrimSuffix(f.id, "Function")+"Role]}"; got != want {
			say("role %s, want %s", got, want)
		}
		if got, want := show(child(f.properties, "LoggingConfig")["LogGroup"]), "{Fn::Sub: /holdfast/${AWS::StackName}/"+name+"}"; got != want {
			say("logs to %s, want %s", got, want)
		}
		violations = append(violations, checkLogGroup(all["infra/access.yaml"].resource(strings.TrimSuffix(f.id, "Function")+"Logs"), "{Fn::Sub: ${LogGroupPrefix}"+name+"}")...)
	}
	for _, id := range functions {
		if !found[id] {
			violations = append(violations, "no function "+id)
		}
	}
	return append(violations, checkTimes(all)...)
}

func checkLogGroup(r resource, name string) (violations []string) {
	if r.kind != "AWS::Logs::LogGroup" || show(r.properties["LogGroupName"]) != name {
		violations = append(violations, fmt.Sprintf("no log group %s called %s", r.id, name))
	}
	if show(r.properties["RetentionInDays"]) != "{Ref: LogRetentionDays}" {
		violations = append(violations, "log group "+r.id+" keeps its logs for "+show(r.properties["RetentionInDays"]))
	}
	return violations
}

// checkTimes: each time limit lets the one inside it end first.
func checkTimes(all stacks) (violations []string) {
	timeout := func(id string) any { return all[root].resource(id).properties["Timeout"] }
	if got := show(timeout("ApiFunction")); got != "{Fn::If: [Streams, 900, 29]}" {
		violations = append(violations, "ApiFunction: time limit "+got+", want that of its integration")
	}
	for id, state := range map[string][2]string{"StepFunction": {statemachine.Task, "Run"}, "SettleFunction": {statemachine.Task, "Settle"}, "DeliverFunction": {statemachine.Delivery, "Deliver"}} {
		seconds, _ := timeout(id).(int)
		if limit := stateTimeout(state[0], state[1]); seconds <= 0 || seconds+30 > limit {
			violations = append(violations, fmt.Sprintf("%s: time limit %d s, the state %s waits for %d s", id, seconds, state[1], limit))
		}
	}
	return violations
}

var substitution = regexp.MustCompile(`\$\{([^}]*)\}`)

// machines of the template.
var machines = []struct{ id, file, definition, name, parameter, variable string }{
	{"TaskMachine", "statemachine/task.asl.json", statemachine.Task, "task", "StateMachineArn", "HOLDFAST_STATE_MACHINE"},
	{"DeliveryMachine", "statemachine/delivery.asl.json", statemachine.Delivery, "delivery", "DeliveryMachineArn", "HOLDFAST_DELIVERY_MACHINE"},
}

func checkMachines(_ *testing.T, all stacks) (violations []string) {
	if n := len(all[root].resources("AWS::Serverless::StateMachine")); n != len(machines) {
		violations = append(violations, fmt.Sprintf("%d state machines, want %d", n, len(machines)))
	}
	for _, known := range machines {
		m := all[root].resource(known.id)
		say := func(format string, args ...any) {
			violations = append(violations, known.id+": "+fmt.Sprintf(format, args...))
		}
		if m.properties["DefinitionUri"] != known.file {
			say("it is %s", show(m.properties["DefinitionUri"]))
		}
		used := map[string]bool{}
		for _, found := range substitution.FindAllStringSubmatch(known.definition, -1) {
			used[found[1]] = true
		}
		given := child(m.properties, "DefinitionSubstitutions")
		if got, want := slices.Sorted(maps.Keys(given)), slices.Sorted(maps.Keys(used)); !slices.Equal(got, want) {
			say("substitutions given are %q, used are %q", got, want)
		}
		var functions []string
		for name, v := range given {
			if want := "{Fn::GetAtt: [" + strings.TrimSuffix(name, "Arn") + ", Arn]}"; show(v) != want {
				say("%s is %s, want %s", name, show(v), want)
			}
			functions = append(functions, show(v))
		}
		for _, policy := range list(m.properties["Policies"]) {
			for _, statement := range list(policy.(object)["Statement"]) {
				var may []string
				for _, f := range list(child(object{"s": statement}, "s")["Resource"]) {
					may = append(may, show(f))
				}
				if slices.Sort(functions); child(object{"s": statement}, "s")["Sid"] == "CallFunctions" && !slices.Equal(slices.Sorted(slices.Values(may)), functions) {
					say("it may call %q, and calls %q", may, functions)
				}
			}
		}
		// Its name is spelled out where depending on it would be a circle.
		name := "${AWS::StackName}-" + known.name
		alias, _ := m.properties["AutoPublishAlias"].(string)
		arn := "{Fn::Sub: arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:" + name
		access := child(all[root].resource("Access").properties, "Parameters")
		for what, pair := range map[string][2]string{
			"name":                 {show(m.properties["Name"]), "{Fn::Sub: " + name + "}"},
			"type":                 {show(m.properties["Type"]), "STANDARD"}, // only these start once for each name
			"ARN in the policies":  {show(access[known.parameter]), arn + "}"},
			"alias in policies":    {show(access["StateMachineAlias"]), alias},
			"ARN of the functions": {show(child(all[root].doc, "Globals", "Function", "Environment", "Variables")[known.variable]), arn + ":" + alias + "}"},
		} {
			if pair[0] != pair[1] || alias == "" {
				say("the machine's %s is %s, want %s", what, pair[0], pair[1])
			}
		}
		logging := child(m.properties, "Logging")
		if logging["IncludeExecutionData"] != false {
			say("execution data holds callback tokens, or whose tasks are delivered where, and must not be logged (I9)")
		}
		if !strings.Contains(show(logging["Destinations"]), known.id+"Logs") {
			say("it logs nowhere")
		}
		violations = append(violations, checkLogGroup(all[root].resource(known.id+"Logs"), "{Fn::Sub: /aws/vendedlogs/states/"+name+"}")...)
	}
	return violations
}

// checkSecrets: what must not leave.
func checkSecrets(_ *testing.T, all stacks) (violations []string) {
	storage := all["infra/storage.yaml"]
	if storage.resource("Private").properties["StreamSpecification"] != nil {
		violations = append(violations, "the table of tokens is streamed (I9)")
	}
	for _, r := range storage.resources("") {
		if r.kind != "AWS::S3::BucketPolicy" && (r.whole["DeletionPolicy"] != "RetainExceptOnCreate" || r.whole["UpdateReplacePolicy"] != "Retain") {
			violations = append(violations, r.id+" would be deleted with its stack")
		}
	}
	bucket := storage.resource("Blobs").properties
	if got := show(bucket["PublicAccessBlockConfiguration"]); got != "{BlockPublicAcls: true, BlockPublicPolicy: true, IgnorePublicAcls: true, RestrictPublicBuckets: true}" {
		violations = append(violations, "the bucket can be made public: "+got)
	}
	if bucket["BucketEncryption"] == nil || !strings.Contains(show(bucket["LifecycleConfiguration"]), "AbortIncompleteMultipartUpload: {DaysAfterInitiation: 1}") {
		violations = append(violations, "the bucket is not encrypted, or keeps incomplete uploads")
	}
	if bucket["VersioningConfiguration"] != nil {
		violations = append(violations, "the bucket keeps versions, so that a purge would not remove the bytes")
	}
	if !strings.Contains(show(storage.resource("BlobsPolicy").properties), "aws:SecureTransport") {
		violations = append(violations, "the bucket takes unencrypted connections")
	}
	return violations
}

// every file in infra/ that looks like a template is one that the root nests.
func TestNoTemplateIsLeftOut(t *testing.T) {
	all := load(t, nil)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if path.Ext(f.Name()) == ".yaml" && all[path.Join("infra", f.Name())] == nil {
			t.Errorf("infra/%s is nested nowhere", f.Name())
		}
	}
}
