package infra_test

import (
	"strings"
	"testing"
)

// plants are violations, each by one change of the templates' text; the named rule must report it.
var plants = []struct{ rule, file, old, planted string }{
	{"references lead somewhere", root, "!Ref StreamFailures\n", "!Ref StreamFailure\n"},
	{"references lead somewhere", root, "!If [Traces, true", "!If [Trace, true"},
	{"references lead somewhere", root, "Storage.Outputs.TasksStreamArn", "Storage.Outputs.StreamArn"},
	{"references lead somewhere", root, "${ApiFunction.Arn}", "${ApiFunctions.Arn}"},
	{"references lead somewhere", "infra/access.yaml", "  LogRetentionDays:\n", "  Unused: {Type: String}\n  LogRetentionDays:\n"},
	{"nested stacks get their parameters", root, "        Tracing: !Ref Tracing\n", ""},
	{"nested stacks get their parameters", root, "        PointInTimeRecovery: !Ref", "        PointInTime: !Ref"},
	{"nested stacks get their parameters", "infra/domain.yaml", "Outputs:\n", "Outputs:\n  More: {Value: 1}\n"},
	{"parameters are explained", root, "Default: 200, ", ""},
	{"parameters are explained", root, "Description: 'Whether DynamoDB refuses to delete the tables.'", "Description: Protect"},
	{"the API streams", root, "[Streams, STREAM, BUFFERED]", "[Streams, RESPONSE_STREAM, BUFFERED]"},
	{"the API streams", root, "2021-11-15", "2015-03-31"},
	{"the API streams", root, "OpenApiVersion: 3.0.1", "OpenApiVersion: 2.0"},
	{"the API streams", root, "AlwaysDeploy: true", "AlwaysDeploy: false"},
	{"the API streams", root, "{Type: REGIONAL}", "{Type: EDGE}"},
	{"the API streams", root, "/{proxy+}", "/{proxy}"},
	{"the API streams", root, "Streams: !Equals [!Ref Streaming, 'true']", "Streams: !Equals [!Ref Streaming, 'yes']"},
	{"the API streams", root, "DataTraceEnabled: false", "DataTraceEnabled: true"},
	{"functions are complete", root, "      Timeout: 60\n", ""},
	{"functions are complete", root, "      MemorySize: 256\n", ""},
	{"functions are complete", root, "      ReservedConcurrentExecutions: !If [Reserves, 20, !Ref AWS::NoValue]\n", ""},
	{"functions are complete", root, "    Tracing: !Ref Tracing\n", ""},
	{"functions are complete", root, "{LogGroup: !Sub '/holdfast/${AWS::StackName}/sweep', ", "{"},
	{"functions are complete", root, "Timeout: 900 #", "Timeout: 960 #"},
	{"functions are complete", root, "      Timeout: 60\n      ReservedConcurrentExecutions: !If [Reserves, 50, !Ref AWS::NoValue]\n      Environment:\n        Variables:\n          HOLDFAST_KMS_KEY: !Ref KmsKeyArn\n\n", "      Timeout: 120\n      ReservedConcurrentExecutions: !If [Reserves, 50, !Ref AWS::NoValue]\n      Environment:\n        Variables:\n          HOLDFAST_KMS_KEY: !Ref KmsKeyArn\n\n"},
	{"functions are complete", root, "Timeout: !If [Streams, 900, 29]", "Timeout: 900"},
	{"functions are complete", root, "Access.Outputs.SettleRole", "Access.Outputs.StepRole"},
	{"functions are complete", root, "BuildMethod: makefile", "BuildMethod: go1.x"},
	{"functions are complete", "infra/access.yaml", ", RetentionInDays: !Ref LogRetentionDays", ""},
	{"policies name what they allow", "infra/access.yaml", "Action: states:SendTaskSuccess", "Action: states:*"},
	{"policies name what they allow", "infra/access.yaml", " # wildcard: the blobs of every task", " # wildcard: yes"},
	{"policies name what they allow", "infra/access.yaml", " # wildcard: it ends with one, for the streams of this group", ""},
	{"policies name what they allow", "infra/access.yaml", "Resource: !Ref StateMachineArn", "NotResource: !Ref StateMachineArn"},
	{"policies name what they allow", "infra/access.yaml", "dynamodb:BatchGetItem, ", ""},
	{"policies name what they allow", "infra/access.yaml", "dynamodb:BatchGetItem, ", "dynamodb:BatchGetItem, dynamodb:Scan, "},
	{"policies name what they allow", "infra/access.yaml", "dynamodb:DeleteItem, dynamodb:GetItem, ", "dynamodb:GetItem, "},
	{"policies name what they allow", "infra/access.yaml", "${PrivateTableArn}/index/due", "${PrivateTableArn}/index/*"},
	{"policies name what they allow", "infra/access.yaml", "dynamodb:DeleteItem, dynamodb:GetItem, dynamodb:Query, ", "dynamodb:DeleteItem, dynamodb:GetItem, dynamodb:PutItem, dynamodb:Query, "},
	{"policies name what they allow", "infra/access.yaml", "                  - dynamodb:BatchWriteItem\n", ""},
	{"policies name what they allow", "infra/access.yaml", "Action: s3:DeleteObject", "Action: [s3:DeleteObject, s3:GetObject]"},
	{"policies name what they allow", "infra/access.yaml", "Action: [s3:GetObject, s3:PutObject]", "Action: [s3:DeleteObject, s3:GetObject, s3:PutObject]"},
	{"policies name what they allow", "infra/access.yaml", "Sid: Private", "Sid: More"},
	{"policies name what they allow", "infra/storage.yaml", "wildcard: and every object", "every object"},
	{"tables are those of the ledger", "infra/storage.yaml", "IndexName: due", "IndexName: byDue"},
	{"tables are those of the ledger", "infra/storage.yaml", "{AttributeName: up, KeyType: HASH}", "{AttributeName: ct, KeyType: HASH}"},
	{"tables are those of the ledger", "infra/storage.yaml", "NEW_AND_OLD_IMAGES", "NEW_IMAGE"},
	{"tables are those of the ledger", "infra/storage.yaml", "AttributeName: ttl", "AttributeName: expires"},
	{"tables are those of the ledger", "infra/storage.yaml", "PAY_PER_REQUEST", "PROVISIONED"},
	{"tables are those of the ledger", "infra/storage.yaml", "ProjectionType: KEYS_ONLY", "ProjectionType: ALL"},
	{"nothing secret is streamed or public", "infra/storage.yaml", "          Projection: {ProjectionType: KEYS_ONLY}\n      TimeToLive", "          Projection: {ProjectionType: KEYS_ONLY}\n      StreamSpecification: {StreamViewType: KEYS_ONLY}\n      TimeToLive"},
	{"nothing secret is streamed or public", "infra/storage.yaml", "DeletionPolicy: RetainExceptOnCreate", "DeletionPolicy: Delete"},
	{"nothing secret is streamed or public", "infra/storage.yaml", "BlockPublicPolicy: true", "BlockPublicPolicy: false"},
	{"nothing secret is streamed or public", "infra/storage.yaml", "DaysAfterInitiation: 1", "DaysAfterInitiation: 100"},
	{"the stream mapping gives up", root, "MaximumRetryAttempts: 10\n", "MaximumRetryAttempts: -1\n"},
	{"the stream mapping gives up", root, "            MaximumRecordAgeInSeconds: 3600\n", ""},
	{"the stream mapping gives up", root, "            BisectBatchOnFunctionError: true\n", ""},
	{"the stream mapping gives up", root, "            DestinationConfig:", "            Destination:"},
	{"the stream mapping gives up", root, "TRIM_HORIZON", "LATEST"},
	{"filters let through what is handled", root, `[{"prefix":"e#"}]}}}}`, `[{"prefix":"e#"}]}}}`},
	{"filters let through what is handled", root, `[{"prefix":"e#"}]`, `["e#"]`},
	{"filters let through what is handled", root, `"eventName":["INSERT"],`, ``},
	{"filters let through what is handled", root, `"userIdentity":{"type":["Service"],"principalId":["dynamodb.amazonaws.com"]},`, ``},
	{"filters let through what is handled", root, `"eventName":["REMOVE"]`, `"eventName":["MODIFY"]`},
	{"filters let through what is handled", root, `"sk":{"S":["t#"]}`, `"sk":{"S":["t"]}`},
	{"the state machines are wired", root, "        SettleFunctionArn:", "        SettleArn:"},
	{"the state machines are wired", root, "StepFunctionArn: !GetAtt StepFunction.Arn", "StepFunctionArn: !GetAtt SettleFunction.Arn"},
	{"the state machines are wired", root, "IncludeExecutionData: false", "IncludeExecutionData: true"},
	{"the state machines are wired", root, "Type: STANDARD", "Type: EXPRESS"},
	{"the state machines are wired", root, "AutoPublishAlias: live", "AutoPublishAlias: current"},
	{"the state machines are wired", root, "Name: !Sub '${AWS::StackName}-task'", "Name: !Sub '${AWS::StackName}-tasks'"},
	{"the state machines are wired", root, "Name: !Sub '${AWS::StackName}-delivery'", "Name: !Sub '${AWS::StackName}-deliveries'"},
	{"the state machines are wired", root, "statemachine/delivery.asl.json", "statemachine/task.asl.json"},
	{"the state machines are wired", root, "stateMachine:${AWS::StackName}-delivery:live", "stateMachine:${AWS::StackName}-task:live"},
	{"the state machines are wired", root, "Resource: !GetAtt DeliverFunction.Arn", "Resource: !GetAtt StepFunction.Arn"},
	{"the state machines are wired", root, "IncludeExecutionData: false # whose", "IncludeExecutionData: true # whose"},
	{"the key opens the ring for those who need it", "infra/access.yaml", "kms:EncryptionContext:holdfast': keyring", "kms:EncryptionContext:holdfast': ring"},
	{"the key opens the ring for those who need it", "infra/access.yaml", "Condition: {StringEquals: {'kms:ViaService'", "Condition: {StringLike: {'kms:ViaService'"},
	{"the key opens the ring for those who need it", "infra/access.yaml", "              - Sid: Private\n                Effect: Allow\n                Action: [dynamodb:GetItem, dynamodb:UpdateItem]",
		"              - Sid: Key\n                Effect: Allow\n                Action: [kms:Decrypt, kms:Encrypt]\n                Resource: !Ref KmsKeyArn\n                Condition: {StringEquals: {'kms:EncryptionContext:holdfast': keyring}}\n              - Sid: Private\n                Effect: Allow\n                Action: [dynamodb:GetItem, dynamodb:UpdateItem]"},
	{"the environment is what the code reads", root, "          HOLDFAST_KMS_KEY: !Ref KmsKeyArn\n", ""},
	{"the environment is what the code reads", root, "HOLDFAST_TASKS_TABLE:", "HOLDFAST_TASK_TABLE:"},
	{"the environment is what the code reads", root, "          HOLDFAST_OIDC_GRANT: !Ref OidcGrant\n", ""},
	{"the environment is what the code reads", root, "        HOLDFAST_SYSTEMS_URL:", "        HOLDFAST_LEASE: 30s\n        HOLDFAST_SYSTEMS_URL:"},
	{"the environment is what the code reads", root, "        HOLDFAST_SYSTEMS_URL:", "        HOLDFAST_API_KEYS: !Ref ApiKeys\n        HOLDFAST_SYSTEMS_URL:"},
	{"the environment is what the code reads", root, "NoEcho: true, ", ""},
	{"what is watched has an alarm", root, "[DEBUG, INFO]", "[DEBUG, INFO, WARN]"},
	{"what is watched has an alarm", "infra/alarms.yaml", "  SweepSilent:\n", "  Silence:\n"},
	{"what is watched has an alarm", "infra/alarms.yaml", "${Runbook}#post-terminal", "${Runbook}#terminal"},
	{"what is watched has an alarm", "infra/alarms.yaml", "'${Deployment}-throttled'", "throttled"},
	{"what is watched has an alarm", "infra/alarms.yaml", "      AlarmActions: !If [Tells, [!Ref Topic], !Ref AWS::NoValue]\n", ""},
	{"what is watched has an alarm", "infra/alarms.yaml", "OKActions: !If [Tells, [!Ref Topic]", "OKActions: !If [Tells, [!Ref Runbook]"},
	{"what is watched has an alarm", "infra/alarms.yaml", "MetricName: TasksPastDue", "MetricName: TasksLate"},
	{"what is watched has an alarm", "infra/alarms.yaml", "MetricName: UnreadableRecords,", "MetricName: UnreadRecords,"},
	{"what is watched has an alarm", "infra/alarms.yaml", "MetricName: IteratorAge", "MetricName: StreamAge"},
	{"what is watched has an alarm", "infra/alarms.yaml", "Dimensions: [{Name: Deployment, Value: !Ref Deployment}]\n", "Dimensions: [{Name: Task, Value: all}]\n"},
	{"what is watched has an alarm", "infra/alarms.yaml", "Threshold: 10\n", "Threshold: 11\n"},
	{"what is watched has an alarm", "infra/alarms.yaml", "Threshold: 900\n", "Threshold: 90\n"},
	{"what is watched has an alarm", "infra/alarms.yaml", "LessThanThreshold", "LessThanOrEqualToThreshold"},
	{"what is watched has an alarm", "infra/alarms.yaml", "TreatMissingData: ignore", "TreatMissingData: notBreaching"},
	{"what is watched has an alarm", "infra/alarms.yaml", "TreatMissingData: breaching", "TreatMissingData: missing"},
	{"what is watched has an alarm", "infra/alarms.yaml", "DatapointsToAlarm: 15", "DatapointsToAlarm: 14"},
	{"what is watched has an alarm", "infra/alarms.yaml", "Statistic: Maximum", "Statistic: Average"},
	{"what is watched has an alarm", "infra/alarms.yaml", "FILL(answers, 0)", "answers"},
	{"what is watched has an alarm", "infra/alarms.yaml", "Stat: Maximum, Metric: {Namespace: Holdfast", "Stat: Average, Metric: {Namespace: Holdfast"},
}

func TestEachRuleCatchesItsViolation(t *testing.T) {
	caught := map[string]int{}
	for _, p := range plants {
		done := false
		all := load(t, func(file, text string) string {
			if file != p.file {
				return text
			}
			done = strings.Contains(text, p.old)
			return strings.Replace(text, p.old, p.planted, 1)
		})
		if !done {
			t.Errorf("%s: %q is not in %s", p.rule, p.old, p.file)
			continue
		}
		for _, r := range rules {
			if r.name == p.rule && len(r.check(t, all)) > 0 {
				caught[r.name]++
			} else if r.name == p.rule {
				t.Errorf("%s: %q in place of %q is not found", p.rule, p.planted, p.old)
			}
		}
	}
	for _, r := range rules {
		if caught[r.name] == 0 {
			t.Errorf("rule %q has caught nothing: plant a violation", r.name)
		}
	}
}
