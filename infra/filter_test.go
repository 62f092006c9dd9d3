package infra_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// mapping is the event source of the stream function.
func mapping(all stacks) object {
	return child(all[root].resource("StreamFunction").properties, "Events", "Tasks", "Properties")
}

// checkMapping: with its defaults a mapping tries a record that cannot be handled for as long as the stream keeps it, and blocks the shard.
func checkMapping(_ *testing.T, all stacks) (violations []string) {
	m := mapping(all)
	for property, want := range map[string]string{
		"Stream":                     "{Fn::GetAtt: [Storage, Outputs.TasksStreamArn]}",
		"StartingPosition":           "TRIM_HORIZON",
		"FunctionResponseTypes":      "[ReportBatchItemFailures]",
		"BisectBatchOnFunctionError": "true",
		"DestinationConfig":          "{OnFailure: {Destination: {Fn::GetAtt: [StreamFailures, Arn]}, Type: SQS}}",
	} {
		if got := show(m[property]); got != want {
			violations = append(violations, fmt.Sprintf("stream mapping: %s %s, want %s", property, got, want))
		}
	}
	if n, _ := m["MaximumRetryAttempts"].(int); n < 1 || n > 100 {
		violations = append(violations, fmt.Sprintf("stream mapping: %v attempts", m["MaximumRetryAttempts"]))
	}
	if n, _ := m["MaximumRecordAgeInSeconds"].(int); n < 60 || n > 6*3600 {
		violations = append(violations, fmt.Sprintf("stream mapping: records are tried for %v seconds", m["MaximumRecordAgeInSeconds"]))
	}
	return violations
}

// records of the table and whether the stream function has something to do (infra/dynamo, Decode).
var records = []struct {
	name, text string
	handled    bool
}{
	{"a new entry", record("INSERT", "T#acme#1", "e#0000000007", ""), true},
	{"an expiry marker that TTL removed", record("REMOVE", "T#acme#1", "t#", ttlIdentity), true},
	{"an expiry marker that a purge removed", record("REMOVE", "T#acme#1", "t#", ""), false},
	{"a new expiry marker", record("INSERT", "T#acme#1", "t#", ""), false},
	{"a new head", record("INSERT", "T#acme#1", "#", ""), false},
	{"a changed head", record("MODIFY", "T#acme#1", "#", ""), false},
	{"a submission key that TTL removed", record("REMOVE", "K#acme#1", "#", ttlIdentity), false},
	{"an entry that a purge removed", record("REMOVE", "T#acme#1", "e#0000000007", ""), false},
	{"a new effect", record("INSERT", "T#acme#1", "f#1#x", ""), false},
}

const ttlIdentity = `,"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}`

func record(event, pk, sk, more string) string {
	return fmt.Sprintf(`{"eventName":%q,"dynamodb":{"Keys":{"pk":{"S":%q},"sk":{"S":%q}}}%s}`, event, pk, sk, more)
}

// checkFilters runs the patterns on records: Lambda takes a pattern that it cannot read when the mapping is made, or that can never match, for
// "no records", and nothing says so.
func checkFilters(t *testing.T, all stacks) (violations []string) {
	var patterns []object
	for _, f := range list(child(mapping(all), "FilterCriteria")["Filters"]) {
		var p object
		if err := json.Unmarshal(fmt.Append(nil, f.(object)["Pattern"]), &p); err != nil {
			return []string{fmt.Sprintf("a filter is no JSON: %v", err)}
		}
		patterns = append(patterns, p)
	}
	for _, r := range records {
		var o object
		if err := json.Unmarshal([]byte(r.text), &o); err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(patterns, func(p object) bool { return matches(p, o) })
		if got != r.handled {
			violations = append(violations, fmt.Sprintf("filters: %s passes: %v, want %v", r.name, got, r.handled))
		}
	}
	return violations
}

// matches is Lambda's event filtering as far as the patterns use it: every name of the pattern, one of its values, prefixes.
func matches(pattern, record object) bool {
	for name, want := range pattern {
		got, ok := record[name]
		if !ok {
			return false
		}
		switch want := want.(type) {
		case object:
			if inner, is := got.(object); !is || !matches(want, inner) {
				return false
			}
		case []any:
			if !slices.ContainsFunc(want, func(w any) bool { return matchesValue(w, got) }) {
				return false
			}
		default:
			return false // a pattern's leaf is a list
		}
	}
	return true
}

func matchesValue(want, got any) bool {
	if o, ok := want.(object); ok {
		prefix, is := o["prefix"].(string)
		text, _ := got.(string)
		return is && len(o) == 1 && strings.HasPrefix(text, prefix)
	}
	return want == got
}

// The code has the last word on what there is to do with each record.
func TestRecordsAreTheLedgers(t *testing.T) {
	for _, r := range records {
		var e events.DynamoDBEventRecord
		if err := json.Unmarshal([]byte(r.text), &e); err != nil {
			t.Fatal(err)
		}
		decoded, err := dynamo.Decode(e)
		if got := err != nil || !decoded.Ignored(); got != r.handled { // an entry without its image, as here, cannot be read
			t.Errorf("%s: handled: %v, want %v", r.name, got, r.handled)
		}
	}
}
