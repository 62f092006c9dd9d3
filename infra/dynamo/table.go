package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of keys and indexes, and the one that TTL looks at.
const (
	partitionName = "pk"
	sortName      = "sk"
	updateName    = "up" // byUpdate: a shard of a tenant
	contextName   = "ct" // byContext: a conversation
	statusName    = "us" // both: the status's time, the task, and what lists filter on
	dueName       = "dp" // due, of either table: a shard of everybody
	dueSortName   = "ds" // due: when, and which task, of which the endpoint
	ttlName       = "ttl"
)

// Indexes of the table of tasks; the private one has byDue as well, for endpoints and
// findings. They hold keys only.
const (
	byUpdate  = "byUpdate"
	byContext = "byContext"
	byDue     = "due"
)

// Names are the two tables of a ledger.
type Names struct {
	Tasks   string // streamed
	Private string // not streamed: what must not enter a stream
}

// TableAPI is what CreateTables needs of *dynamodb.Client.
type TableAPI interface {
	CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	DescribeTimeToLive(ctx context.Context, in *dynamodb.DescribeTimeToLiveInput, opts ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
	UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// index is an index of a table.
type index struct{ name, partition, sort string }

// indexes are those of the table of tasks. An item of the private table has the
// attributes of its one index only, so its entries are among them.
func indexes() []index {
	return []index{{byUpdate, updateName, statusName}, {byContext, contextName, statusName}, dueIndex()}
}

func dueIndex() index { return index{byDue, dueName, dueSortName} }

// How long CreateTables waits for a table, and how often it looks.
const (
	tablePatience = 2 * time.Minute
	tableLook     = 200 * time.Millisecond
)

// CreateTables makes the tables where they are absent and returns when both can
// be used. It is for local servers and tests; a deployment's tables come from its
// template. A table that is there is taken as it is.
func CreateTables(ctx context.Context, client TableAPI, names Names) error {
	ctx, stop := context.WithTimeout(ctx, tablePatience)
	defer stop()
	for _, in := range []*dynamodb.CreateTableInput{tasksTable(names.Tasks), privateTable(names.Private)} {
		if err := createTable(ctx, client, in); err != nil {
			return fmt.Errorf("table %s: %w", *in.TableName, err)
		}
	}
	return nil
}

func tasksTable(name string) *dynamodb.CreateTableInput {
	in := newTable(name, indexes()...)
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages}
	return in
}

func privateTable(name string) *dynamodb.CreateTableInput { return newTable(name, dueIndex()) }

func newTable(name string, indexes ...index) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, KeySchema: schema(partitionName, sortName),
		AttributeDefinitions: []types.AttributeDefinition{stringAttribute(partitionName), stringAttribute(sortName)},
	}
	named := map[string]bool{partitionName: true, sortName: true}
	for _, x := range indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.name), KeySchema: schema(x.partition, x.sort),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		})
		for _, attribute := range []string{x.partition, x.sort} {
			if !named[attribute] {
				named[attribute] = true
				in.AttributeDefinitions = append(in.AttributeDefinitions, stringAttribute(attribute))
			}
		}
	}
	return in
}

func schema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

func stringAttribute(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
}

func createTable(ctx context.Context, client TableAPI, in *dynamodb.CreateTableInput) error {
	_, err := client.CreateTable(ctx, in)
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}
	for {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName})
		if _, absent := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !absent {
			return err
		}
		if err == nil && active(out.Table) {
			return enableTTL(ctx, client, in.TableName)
		}
		if err := rest(ctx, tableLook); err != nil {
			return fmt.Errorf("waiting until it is active: %w", err)
		}
	}
}

func active(t *types.TableDescription) bool {
	if t == nil || t.TableStatus != types.TableStatusActive {
		return false
	}
	for _, x := range t.GlobalSecondaryIndexes {
		if x.IndexStatus != types.IndexStatusActive {
			return false
		}
	}
	return true
}

// enableTTL switches TTL on unless it is: asking twice is an error.
func enableTTL(ctx context.Context, client TableAPI, table *string) error {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: table})
	if err != nil {
		return err
	}
	if d := out.TimeToLiveDescription; d != nil && (d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return nil
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: table, TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: aws.String(ttlName), Enabled: aws.Bool(true),
	}})
	return err
}

// rest waits for a while or for the end of the context.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
