package infra_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// tables records what infra/dynamo would create: the code's own word on keys, indexes, stream and TTL.
type tables struct {
	created map[string]*dynamodb.CreateTableInput
	ttl     map[string]string
}

func (r *tables) CreateTable(_ context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	r.created[*in.TableName] = in
	return &dynamodb.CreateTableOutput{}, nil
}

func (r *tables) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableStatus: types.TableStatusActive}}, nil
}

func (r *tables) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return &dynamodb.DescribeTimeToLiveOutput{}, nil
}

func (r *tables) UpdateTimeToLive(_ context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	if aws.ToBool(in.TimeToLiveSpecification.Enabled) {
		r.ttl[*in.TableName] = *in.TimeToLiveSpecification.AttributeName
	}
	return &dynamodb.UpdateTimeToLiveOutput{}, nil
}

func checkTables(t *testing.T, all stacks) (violations []string) {
	code := &tables{map[string]*dynamodb.CreateTableInput{}, map[string]string{}}
	if err := dynamo.CreateTables(t.Context(), code, dynamo.Names{Tasks: "Tasks", Private: "Private"}); err != nil {
		t.Fatal(err)
	}
	for id, want := range code.created {
		got := all["infra/storage.yaml"].resource(id).properties
		ttl := "{AttributeName: " + code.ttl[id] + ", Enabled: true}"
		for property, pair := range map[string][2]string{
			"AttributeDefinitions":             {show(sorted(got["AttributeDefinitions"])), attributes(want.AttributeDefinitions)},
			"KeySchema":                        {show(got["KeySchema"]), keys(want.KeySchema)},
			"GlobalSecondaryIndexes":           {show(sorted(got["GlobalSecondaryIndexes"])), indexes(want.GlobalSecondaryIndexes)},
			"StreamSpecification":              {show(got["StreamSpecification"]), stream(want.StreamSpecification)},
			"TimeToLiveSpecification":          {show(got["TimeToLiveSpecification"]), ttl},
			"BillingMode":                      {show(got["BillingMode"]), string(want.BillingMode)},
			"DeletionProtectionEnabled":        {show(got["DeletionProtectionEnabled"]), "{Ref: DeletionProtection}"},
			"PointInTimeRecoverySpecification": {show(got["PointInTimeRecoverySpecification"]), "{PointInTimeRecoveryEnabled: {Ref: PointInTimeRecovery}}"},
		} {
			if pair[0] != pair[1] {
				violations = append(violations, fmt.Sprintf("table %s: %s %s, want %s", id, property, pair[0], pair[1]))
			}
		}
		if _, none, ok := branches(got["SSESpecification"], "HasKey"); !ok || show(none) != "{Ref: AWS::NoValue}" {
			violations = append(violations, fmt.Sprintf("table %s: encryption %s", id, show(got["SSESpecification"])))
		}
	}
	return violations
}

// The code's values in the template's words; what has no order is sorted.

func sorted(v any) any {
	s := slices.Clone(list(v))
	slices.SortFunc(s, func(a, b any) int { return compare(show(a), show(b)) })
	if len(s) == 0 {
		return nil
	}
	return s
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func attributes(definitions []types.AttributeDefinition) string {
	var all []any
	for _, d := range definitions {
		all = append(all, object{"AttributeName": *d.AttributeName, "AttributeType": string(d.AttributeType)})
	}
	return show(sorted(all))
}

func keys(schema []types.KeySchemaElement) string {
	var all []any
	for _, k := range schema {
		all = append(all, object{"AttributeName": *k.AttributeName, "KeyType": string(k.KeyType)})
	}
	return show(all)
}

func indexes(list []types.GlobalSecondaryIndex) string {
	var all []any
	for _, x := range list {
		all = append(all, object{"IndexName": *x.IndexName, "KeySchema": keys(x.KeySchema), "Projection": object{"ProjectionType": string(x.Projection.ProjectionType)}})
	}
	return show(sorted(all))
}

func stream(s *types.StreamSpecification) string {
	if s == nil {
		return show(nil)
	}
	return show(object{"StreamViewType": string(s.StreamViewType)})
}
