package infra_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"go.yaml.in/yaml/v3"
)

// checkPolicies: every role has one policy, wildcards have a reason, and what the ledger calls is allowed, no more.
func checkPolicies(_ *testing.T, all stacks) (violations []string) {
	for _, s := range all {
		eachStatement(s.node, func(statement *yaml.Node) {
			for i := 0; i < len(statement.Content); i += 2 {
				if name := statement.Content[i].Value; name == "Action" || name == "Resource" {
					violations = append(violations, checkWildcards(s, name, statement.Content[i+1])...)
				} else if strings.HasPrefix(name, "Not") {
					violations = append(violations, fmt.Sprintf("%s, line %d: %s allows whatever comes", s.file, statement.Line, name))
				}
			}
		})
	}
	access := all["infra/access.yaml"]
	roles := access.resources("AWS::IAM::Role")
	if len(roles) != len(functions) {
		violations = append(violations, fmt.Sprintf("%d roles for %d functions", len(roles), len(functions)))
	}
	for _, r := range roles {
		if len(list(r.properties["Policies"])) != 1 || r.properties["ManagedPolicyArns"] != nil {
			violations = append(violations, r.id+": want one policy and no managed one")
		}
		violations = append(violations, checkLedgerActions(r)...)
	}
	for _, f := range all[root].resources("AWS::Serverless::Function") {
		if f.properties["Policies"] != nil {
			violations = append(violations, f.id+": policies are in infra/access.yaml")
		}
	}
	return violations
}

// eachStatement finds every mapping that allows or denies.
func eachStatement(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == "Effect" {
				visit(n)
			}
		}
	}
	for _, c := range n.Content {
		eachStatement(c, visit)
	}
}

// checkWildcards wants a reason beside each. The ARN of a log group ends with a wildcard that the template does not show.
func checkWildcards(s *stack, name string, n *yaml.Node) (violations []string) {
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			violations = append(violations, checkWildcards(s, name, c)...)
		}
		return violations
	}
	wild := strings.Contains(n.Value, "*") || n.Tag == "!GetAtt" && strings.HasSuffix(n.Value, "Logs.Arn")
	if _, reason, ok := strings.Cut(s.lines[n.Line-1], "# wildcard: "); wild && (!ok || len(reason) < 10) {
		violations = append(violations, fmt.Sprintf("%s, line %d: %s %s without a reason (# wildcard: …)", s.file, n.Line, name, n.Value))
	}
	return violations
}

// permissions of the operations that the ledger calls; a transaction needs those of its parts.
var permissions = map[string][]string{
	"TransactWriteItems": {"ConditionCheckItem", "PutItem", "UpdateItem"},
}

// duties are what a role does with the ledger and with blobs, statement by statement. Whoever writes tasks may do all
// that the ledger does with them, but only those who purge remove anything; the door removes endpoints, and the blobs
// of a task that it could not create.
func duties() map[string]map[string]duty {
	tasks, private := "{Ref: TasksTableArn}", "{Ref: PrivateTableArn}"
	writes, tokens := duty{ledgerActions(), tasks}, duty{[]string{"dynamodb:GetItem", "dynamodb:UpdateItem"}, private}
	delivers := duty{[]string{"dynamodb:BatchWriteItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"}, private}
	purges := duty{slices.Sorted(slices.Values(append(ledgerActions(), purgeActions...))), tasks}
	blob := func(actions ...string) duty { return duty{actions, "{Fn::Sub: ${BlobsBucketArn}/*}"} }
	finds, forgets := duty{[]string{"s3:ListBucket"}, "{Ref: BlobsBucketArn}"}, blob("s3:DeleteObject")
	return map[string]map[string]duty{
		"ApiRole": {"Ledger": writes, "Private": {[]string{"dynamodb:BatchGetItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"}, private},
			"List":  {[]string{"dynamodb:Query"}, "[{Fn::Sub: ${TasksTableArn}/index/byUpdate}, {Fn::Sub: ${TasksTableArn}/index/byContext}, {Fn::Sub: ${TasksTableArn}/index/due}, {Fn::Sub: ${PrivateTableArn}/index/due}]"},
			"Blobs": blob("s3:DeleteObject", "s3:GetObject", "s3:PutObject"), "TellAbsent": finds},
		"StepRole":   {"Ledger": writes, "Private": tokens, "Blobs": blob("s3:GetObject", "s3:PutObject"), "TellAbsent": finds},
		"SettleRole": {"Ledger": writes, "Private": tokens},
		"StreamRole": {"Ledger": {[]string{"dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"}, tasks},
			"Private": delivers, "ForgetBlobs": forgets, "FindBlobs": finds},
		"DeliverRole": {"Read": {[]string{"dynamodb:GetItem", "dynamodb:Query"}, tasks}, "Private": {[]string{"dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"}, private}},
		"SweepRole": {"Ledger": purges, "Private": {append([]string{"dynamodb:BatchGetItem"}, delivers.actions...), private}, "ForgetBlobs": forgets, "FindBlobs": finds,
			"Due": {[]string{"dynamodb:Query"}, "[{Fn::Sub: ${TasksTableArn}/index/due}, {Fn::Sub: ${PrivateTableArn}/index/due}]"}},
	}
}

// purgeActions are what only a purge needs on the table of tasks.
var purgeActions = []string{"dynamodb:BatchWriteItem", "dynamodb:DeleteItem"}

// duty is what a statement allows.
type duty struct {
	actions  []string
	resource string
}

// ledgerActions are what infra/dynamo needs on the table of tasks, by its own interface, the purge apart.
func ledgerActions() []string {
	need := map[string]bool{}
	api := reflect.TypeFor[dynamo.API]()
	for method := range api.Methods() {
		name := method.Name
		if slices.Contains(purgeActions, "dynamodb:"+name) {
			continue
		}
		actions, ok := permissions[name]
		if !ok {
			actions = []string{name}
		}
		for _, a := range actions {
			need["dynamodb:"+a] = true
		}
	}
	return slices.Sorted(maps.Keys(need))
}

// checkLedgerActions wants each duty allowed, and nothing else of the tables and the bucket.
func checkLedgerActions(r resource) (violations []string) {
	want := maps.Clone(duties()[r.id])
	for _, statement := range list(child(list(r.properties["Policies"])[0].(object), "PolicyDocument")["Statement"]) {
		o, _ := statement.(object)
		sid := fmt.Sprint(o["Sid"])
		var got []string
		for _, a := range actionsOf(o["Action"]) {
			if strings.HasPrefix(a, "dynamodb:") || strings.HasPrefix(a, "s3:") {
				got = append(got, a)
			}
		}
		if len(got) == 0 || sid == "Follow" || sid == "FindStream" {
			continue
		}
		slices.Sort(got)
		if d := want[sid]; !slices.Equal(got, d.actions) || show(o["Resource"]) != d.resource {
			violations = append(violations, fmt.Sprintf("%s: %s may %q on %s, want %q on %s", r.id, sid, got, show(o["Resource"]), d.actions, d.resource))
		}
		delete(want, sid)
	}
	for sid := range want {
		violations = append(violations, fmt.Sprintf("%s: no statement %s", r.id, sid))
	}
	return violations
}

func actionsOf(v any) (out []string) {
	if s, one := v.(string); one {
		return []string{s}
	}
	for _, a := range list(v) {
		out = append(out, fmt.Sprint(a))
	}
	return out
}

// ringHolders are the functions that open the key ring: who seals secrets of webhooks, and who sends them.
var ringHolders = []string{"Api", "Stream", "Deliver"}

// checkKey: whoever may use the key may do so through DynamoDB and S3, which says nothing about what it opens; the ring, by its encryption
// context, is opened by those who need it.
func checkKey(_ *testing.T, all stacks) (violations []string) {
	const through = "{StringEquals: {kms:ViaService: [{Fn::Sub: dynamodb.${AWS::Region}.amazonaws.com}, {Fn::Sub: s3.${AWS::Region}.amazonaws.com}]}}"
	const ring = "{StringEquals: {kms:EncryptionContext:holdfast: keyring}}"
	for _, r := range all["infra/access.yaml"].resources("AWS::IAM::Role") {
		opens := false
		walk(r.properties, func(v any) {
			o, _ := v.(object)
			actions := strings.Join(actionsOf(o["Action"]), " ")
			if !strings.Contains(actions, "kms:") {
				return
			}
			switch condition := show(o["Condition"]); {
			case condition == ring && actions == "kms:Decrypt kms:Encrypt":
				opens = true
			case condition != through:
				violations = append(violations, fmt.Sprintf("%s: %v may %s where %s", r.id, o["Sid"], actions, condition))
			}
			if show(o["Resource"]) != "{Ref: KmsKeyArn}" {
				violations = append(violations, fmt.Sprintf("%s: %v is about %s", r.id, o["Sid"], show(o["Resource"])))
			}
		})
		if want := slices.Contains(ringHolders, strings.TrimSuffix(r.id, "Role")); opens != want {
			violations = append(violations, fmt.Sprintf("%s opens the key ring: %v, want %v", r.id, opens, want))
		}
	}
	return violations
}
