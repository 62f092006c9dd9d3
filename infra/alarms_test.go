package infra_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// theirs are metrics of AWS's own that alarms look at beside ours, with their dimensions.
var theirs = map[string][]string{
	"AWS/Lambda IteratorAge": {"FunctionName"}, "AWS/Lambda Throttles": {"FunctionName"}, "AWS/Lambda Errors": {"FunctionName"},
	"AWS/SQS ApproximateNumberOfMessagesVisible": {"QueueName"}, "AWS/ApiGateway 5XXError": {"ApiName", "Stage"},
	"AWS/States ExecutionsFailed": {"StateMachineArn"}, "AWS/States ExecutionsTimedOut": {"StateMachineArn"},
	"AWS/States ExecutionsAborted": {"StateMachineArn"}, "AWS/States ExecutionThrottled": {"StateMachineArn"},
}

// checkAlarms: every invariant that is watched has its alarm, on the metric that the code writes and with the number that makes
// its light red; there is no other; each says what a missing number means, tells the topic, and names its runbook section.
func checkAlarms(t *testing.T, all stacks) (violations []string) {
	alarms := all["infra/alarms.yaml"]
	if alarms == nil {
		return []string{"no template of alarms"}
	}
	sections := runbookSections(t)
	wanted := map[string]bool{}
	for _, v := range health.Invariants() {
		id := logicalID(v.ID)
		wanted[id] = true
		a := alarms.resource(id)
		if a.kind != "AWS::CloudWatch::Alarm" {
			violations = append(violations, fmt.Sprintf("%s has no alarm %s", v.ID, id))
			continue
		}
		say := func(format string, args ...any) {
			violations = append(violations, id+": "+fmt.Sprintf(format, args...))
		}
		if got, want := show(a.properties["AlarmName"]), "{Fn::Sub: ${Deployment}-"+string(v.ID)+"}"; got != want {
			say("is called %s, want %s", got, want)
		}
		if text := show(a.properties["AlarmDescription"]); !regexp.MustCompile(`^\{Fn::Sub: .{20,}\. \$\{Runbook\}#` + string(v.ID) + `\}$`).MatchString(text) {
			say("is described as %s: a sentence, then the section of the runbook", text)
		}
		if !sections[string(v.ID)] {
			say("infra/RUNBOOK.md has no section %s", v.ID)
		}
		for _, property := range []string{"AlarmActions", "OKActions"} {
			if then, _, ok := branches(a.properties[property], "Tells"); !ok || show(then) != "[{Ref: Topic}]" {
				say("%s are %s", property, show(a.properties[property]))
			}
		}
		violations = append(violations, checkThreshold(v, a)...)
		violations = append(violations, checkMetrics(v, a)...)
	}
	for _, a := range alarms.resources("") {
		if !wanted[a.id] {
			violations = append(violations, fmt.Sprintf("%s is the alarm of nothing that is watched", a.id))
		}
	}
	for _, level := range list(child(all[root].doc, "Parameters", "LogLevel")["AllowedValues"]) {
		if level != "DEBUG" && level != "INFO" {
			violations = append(violations, fmt.Sprintf("with the log level %v Lambda drops the metrics, which are lines of level INFO", level))
		}
	}
	for section := range sections {
		if _, watched := health.Of(health.ID(section)); !watched {
			violations = append(violations, fmt.Sprintf("infra/RUNBOOK.md has a section %s, which nothing leads to", section))
		}
	}
	return violations
}

// logicalID is the name of an invariant's alarm.
func logicalID(id health.ID) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(id), "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// runbookSections are the headings below "Alarms", each of which is an anchor as it stands.
func runbookSections(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllStringSubmatch(string(text), -1) {
		out[found[1]] = true
	}
	return out
}

// checkThreshold: an alarm and a light do not disagree.
func checkThreshold(v health.Invariant, a resource) (violations []string) {
	say := func(format string, args ...any) {
		violations = append(violations, a.id+": "+fmt.Sprintf(format, args...))
	}
	threshold, operator := v.Red, "GreaterThanOrEqualToThreshold"
	if v.Below {
		operator = "LessThanThreshold"
	}
	evaluated, points := number(a.properties["EvaluationPeriods"]), number(a.properties["DatapointsToAlarm"])
	if v.Red == 0 { // red by patience
		threshold = v.Amber
		if span := time.Duration(points*period(a)) * time.Second; span != v.Patience || points != evaluated {
			say("waits for %s, the light for %s", span, v.Patience)
		}
	}
	if got := number(a.properties["Threshold"]); got != threshold || a.properties["ComparisonOperator"] != operator {
		say("%v at %v, want %s at %v", a.properties["ComparisonOperator"], got, operator, threshold)
	}
	if points < 1 || points > evaluated || evaluated*period(a) > 3600 {
		say("%v of %v periods of %v s", points, evaluated, period(a))
	}
	m, _ := metrics.Of(v.Metric)
	missing := map[bool]string{true: "ignore", false: "notBreaching"}[m.Gauge && !v.Event]
	if v.Below {
		missing = "breaching"
	}
	if got := a.properties["TreatMissingData"]; got != missing {
		say("treats missing data as %v, want %s", got, missing)
	}
	return violations
}

// checkMetrics: the invariant's own metric is among those that the alarm looks at, as the code writes it, and all others are
// ours or AWS's own, each of which the expression names.
func checkMetrics(v health.Invariant, a resource) (violations []string) {
	say := func(format string, args ...any) {
		violations = append(violations, a.id+": "+fmt.Sprintf(format, args...))
	}
	m, _ := metrics.Of(v.Metric)
	statistic := map[bool]string{true: "Maximum", false: "Sum"}[m.Gauge]
	queries := list(a.properties["Metrics"])
	if len(queries) == 0 {
		if a.properties["MetricName"] != string(v.Metric) || a.properties["Statistic"] != statistic {
			say("looks at the %v of %v, want the %s of %s", a.properties["Statistic"], a.properties["MetricName"], statistic, v.Metric)
		}
		return append(violations, checkMetric(a.id, a.properties)...)
	}
	expression, own := "", false
	for _, q := range queries {
		o, _ := q.(object)
		if text, is := o["Expression"].(string); is {
			expression = text
		}
	}
	for _, q := range queries {
		o, _ := q.(object)
		stat := child(o, "MetricStat")
		if len(stat) == 0 {
			continue
		}
		if id := fmt.Sprint(o["Id"]); !regexp.MustCompile(`FILL\(`+id+`, 0\)`).MatchString(expression) || o["ReturnData"] != false {
			say("%s is not filled in, or not in %q", id, expression)
		}
		metric := child(stat, "Metric")
		own = own || metric["MetricName"] == string(v.Metric) && metric["Namespace"] == metrics.Namespace && stat["Stat"] == statistic
		violations = append(violations, checkMetric(a.id, metric)...)
	}
	if !own {
		say("does not look at the %s of %s", statistic, v.Metric)
	}
	if len(queries) > 10 {
		say("%d metrics: CloudWatch takes ten", len(queries))
	}
	return violations
}

// checkMetric wants a metric that somebody writes, with the dimensions that it has.
func checkMetric(id string, m object) (violations []string) {
	namespace, name := fmt.Sprint(m["Namespace"]), fmt.Sprint(m["MetricName"])
	var dimensions []string
	for _, d := range list(m["Dimensions"]) {
		dimensions = append(dimensions, fmt.Sprint(d.(object)["Name"]))
	}
	want, known := theirs[namespace+" "+name]
	if namespace == metrics.Namespace {
		_, known = metrics.Of(metrics.Name(name))
		want = []string{metrics.Dimension}
	}
	if !known || !slices.Equal(dimensions, want) {
		violations = append(violations, fmt.Sprintf("%s: %s %s with the dimensions %q: nobody writes it", id, namespace, name, dimensions))
	}
	return violations
}

// period is how long an alarm's periods are, in seconds; all of its metrics have the same.
func period(a resource) float64 {
	if p := number(a.properties["Period"]); p > 0 {
		return p
	}
	all := map[float64]bool{}
	longest := 0.0
	for _, q := range list(a.properties["Metrics"]) {
		if p := number(child(q.(object), "MetricStat")["Period"]); p > 0 {
			all[p], longest = true, max(longest, p)
		}
	}
	if len(all) != 1 {
		return 1e9
	}
	return longest
}

func number(v any) float64 {
	n, _ := v.(int)
	return float64(n)
}
