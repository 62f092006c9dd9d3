package main

import "time"

// Dollars for a million of each, unless it says of one, in us-east-1, as listed by AWS on pricesAt.
const (
	pricesAt = "2026-11-29"

	// aws.amazon.com/step-functions/pricing: $0.025 for 1,000 transitions of a Standard workflow; a retry is one.
	perTransition = 25.0
	// aws.amazon.com/dynamodb/pricing/on-demand: request units, Standard table class.
	perWriteUnit = 0.625
	perReadUnit  = 0.125
	// aws.amazon.com/lambda/pricing: requests, and a second of one GB on arm64.
	perInvocation = 0.20
	perGBSecond   = 13.3334
	// aws.amazon.com/api-gateway/pricing: requests to a REST API, first tier.
	perRequest = 3.50
	// aws.amazon.com/s3/pricing: S3 Standard, $0.005 for 1,000 PUT, $0.0004 for 1,000 GET.
	perPut = 5.0
	perGet = 0.40
	// aws.amazon.com/lambda/pricing, durable functions: operations, a GB written, a GB retained for a month.
	perOperation  = 8.0
	perGBWritten  = 0.25 // of one
	perGBRetained = 0.15 // of one
)

const (
	million     = 1e6
	bytesOfGB   = 1e9
	daysOfMonth = 30.0
)

// Assumed, not measured: how long the functions are busy. DynamoDB promises single-digit milliseconds, the others
// promise nothing. An emulator on the same machine would say something about that machine.
const (
	ownTime      = 2 * time.Millisecond // of our code, for each invocation
	dynamoTime   = 8 * time.Millisecond // for each request
	s3Time       = 30 * time.Millisecond
	stepfnTime   = 30 * time.Millisecond
	memoryAPI    = 256
	memoryStep   = 512
	memorySettle = 256
	memoryStream = 256

	memoryDeliver = 256
)

// The functions.
const (
	fnAPI    = "api"
	fnStep   = "step"
	fnSettle = "settle"
	fnStream = "stream"

	fnDeliver = "deliver"
)

// functions are the functions that a task has to do with, and their memory in MiB: the defaults of template.yaml. The
// sweep runs once a minute for all tasks together.
var functions = []struct {
	name   string
	memory float64
}{{fnAPI, memoryAPI}, {fnStep, memoryStep}, {fnSettle, memorySettle}, {fnStream, memoryStream}, {fnDeliver, memoryDeliver}}

// gbSeconds is what memory that is held for so long is billed as.
func gbSeconds(memory float64, held time.Duration) float64 { return memory / 1024 * held.Seconds() }

// busy is how long a function is assumed to be busy with what it did.
func (w work) busy() time.Duration {
	return time.Duration(w.Invocations)*ownTime + time.Duration(w.Dynamo)*dynamoTime +
		time.Duration(w.Puts+w.Gets)*s3Time + time.Duration(w.Calls)*stepfnTime
}

// line is a part of a bill.
type line struct {
	name    string
	dollars float64 // for a million
}

// bill is what a million such tasks cost.
func bill(t *tally) []line {
	seconds, invocations := 0.0, 0
	for _, f := range functions {
		w := t.Work[f.name]
		invocations += w.Invocations
		seconds += gbSeconds(f.memory, w.busy())
	}
	n := t.figures()
	gigabytes := float64(t.Operations) * operationBytes * million / bytesOfGB // of a million tasks
	return []line{
		{"Step Functions, transitions", n.transitions * perTransition},
		{"DynamoDB, writes", n.writes * perWriteUnit},
		{"DynamoDB, reads", n.reads * perReadUnit},
		{"Lambda, invocations", float64(invocations) * perInvocation},
		{"Lambda, GB-seconds (assumed)", seconds * perGBSecond},
		{"API Gateway, requests", n.api * perRequest},
		{"S3, requests", n.puts*perPut + n.gets*perGet},
		{"durable functions, operations", float64(t.Operations) * perOperation},
		{"durable functions, written", gigabytes * perGBWritten},
		{"durable functions, retained", gigabytes * perGBRetained * (waitDays + retentionDays) / daysOfMonth},
	}
}

func total(lines []line) float64 {
	sum := 0.0
	for _, l := range lines {
		sum += l.dollars
	}
	return sum
}
