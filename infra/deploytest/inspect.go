package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// inspect reads back what a template only asks for, as far as the emulator's CloudFormation looks at it (see gaps).
func (t *test) inspect(ctx context.Context) error {
	var failed []error
	for _, look := range []func(context.Context) error{t.inspectTable, t.inspectMapping, t.inspectFunctions, t.inspectLogs} {
		failed = append(failed, look(ctx))
	}
	return errors.Join(failed...)
}

func (t *test) inspectTable(ctx context.Context) error {
	var out struct {
		Table struct {
			StreamSpecification    struct{ StreamViewType string }
			GlobalSecondaryIndexes []struct{ IndexName string }
		}
	}
	if err := t.aws(ctx, &out, "dynamodb", "describe-table", "--table-name", t.cloud.outputs["TasksTable"]); err != nil {
		return err
	}
	if out.Table.StreamSpecification.StreamViewType != "NEW_AND_OLD_IMAGES" || len(out.Table.GlobalSecondaryIndexes) != 3 {
		return fmt.Errorf("the table of tasks: %+v", out.Table)
	}
	return nil
}

func (t *test) inspectMapping(ctx context.Context) error {
	var out struct {
		EventSourceMappings []struct {
			MaximumRetryAttempts, MaximumRecordAgeInSeconds int
			BisectBatchOnFunctionError                      bool
			FunctionResponseTypes                           []string
			FilterCriteria                                  struct{ Filters []struct{ Pattern string } }
		}
	}
	if err := t.aws(ctx, &out, "lambda", "list-event-source-mappings", "--function-name", t.cloud.resources["StreamFunction"]); err != nil {
		return err
	}
	if len(out.EventSourceMappings) != 1 {
		return fmt.Errorf("%d stream mappings", len(out.EventSourceMappings))
	}
	m := out.EventSourceMappings[0]
	if m.MaximumRetryAttempts != 10 || m.MaximumRecordAgeInSeconds != 3600 || !m.BisectBatchOnFunctionError || len(m.FunctionResponseTypes) != 1 || len(m.FilterCriteria.Filters) != 2 {
		return fmt.Errorf("the stream mapping: %+v", m)
	}
	return nil
}

func (t *test) inspectFunctions(ctx context.Context) error {
	for _, id := range []string{"ApiFunction", "StepFunction", "SettleFunction", "StreamFunction", "DeliverFunction", "SweepFunction"} {
		var out struct {
			Runtime, Role       string
			Timeout, MemorySize int
			LoggingConfig       struct{ LogGroup, LogFormat string }
		}
		if err := t.aws(ctx, &out, "lambda", "get-function-configuration", "--function-name", t.cloud.resources[id]); err != nil {
			return err
		}
		name := strings.ToLower(strings.TrimSuffix(id, "Function"))
		if out.Runtime != "provided.al2023" || out.Timeout == 0 || out.MemorySize == 0 || out.Role == "" || out.LoggingConfig.LogGroup != "/"+stackName+"/"+stackName+"/"+name {
			return fmt.Errorf("%s: %+v", id, out)
		}
	}
	return nil
}

func (t *test) inspectLogs(ctx context.Context) error {
	var out struct {
		LogGroups []struct {
			LogGroupName    string
			RetentionInDays int
		}
	}
	if err := t.aws(ctx, &out, "logs", "describe-log-groups"); err != nil {
		return err
	}
	kept := 0
	for _, g := range out.LogGroups {
		if g.RetentionInDays == 30 {
			kept++
		}
	}
	if kept < 8 {
		return fmt.Errorf("%d log groups have a retention of 30 days, want the six functions' and the two state machines': %+v", kept, out.LogGroups)
	}
	return nil
}
