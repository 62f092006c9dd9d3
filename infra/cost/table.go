package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Widths of the tables' columns: their first one, counts, dollars.
const (
	labels = 34
	narrow = 8
	wide   = 17
)

func row(out io.Writer, width int, name string, cells ...string) {
	for i, c := range cells {
		cells[i] = fmt.Sprintf("%*s", width, c)
	}
	fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-*s", labels, name)+strings.Join(cells, ""), " "))
}

// number is a count as it is printed: none is a dash.
func number(n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%g", n)
}

func dollars(d float64) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", d)
}

// most is an aim; none is empty.
func most(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("≤%g", n)
}

// printCounts prints what each scenario cost, act by act.
func printCounts(out io.Writer, all []counted) {
	each := func(name string, cells func(c counted) [3]string) {
		var text []string
		for _, c := range all {
			three := cells(c)
			text = append(text, three[:]...)
		}
		row(out, narrow, name, text...)
	}
	times := func(name string, of func(c counted) int) {
		each(name, func(c counted) [3]string { return [3]string{number(float64(of(c)))} })
	}
	var titles []string
	var tallies []*tally
	for _, c := range all {
		titles, tallies = append(titles, c.title), append(tallies, c.tally)
	}
	row(out, 3*narrow, "", titles...)
	each("DynamoDB, units", func(counted) [3]string { return [3]string{"times", "write", "read"} })
	for _, a := range inStory(tallies...) {
		each(fmt.Sprintf("  %-6s %s", a.Function, a.Name), func(c counted) [3]string {
			s := c.tally.Acts[a]
			return [3]string{number(float64(s.Times)), number(s.Writes), number(s.Reads)}
		})
	}
	each("  in all", func(c counted) [3]string {
		return [3]string{"", number(c.tally.figures().writes), number(c.tally.figures().reads)}
	})
	each("  aim", func(c counted) [3]string { return [3]string{"", most(c.aim.writes)} })
	for _, c := range all {
		if c.beyond != "" {
			fmt.Fprintf(out, "  %s: beyond its aim, for %s\n", c.title, c.beyond)
		}
	}
	fmt.Fprintln(out, "Step Functions, states entered")
	for _, state := range []string{"Run", "Route", "Wait", "Await", "Settle", "Done", "Failed", inDelivery + "Wait", inDelivery + "Deliver", inDelivery + "Route", inDelivery + "Done", inDelivery + "Failed"} {
		times("  "+state, func(c counted) int { return c.tally.States[state] })
	}
	times("  in all", func(c counted) int { return int(c.tally.figures().transitions) })
	each("  aim", func(c counted) [3]string { return [3]string{most(c.aim.transitions)} })
	fmt.Fprintln(out, "Lambda, invocations")
	for _, f := range functions {
		times("  "+f.name, func(c counted) int { return c.tally.Work[f.name].Invocations })
	}
	fmt.Fprintln(out, "S3, requests")
	times("  put", func(c counted) int { return int(c.tally.figures().puts) })
	times("  get", func(c counted) int { return int(c.tally.figures().gets) })
}

// printDollars prints the bills side by side, and the model's at last.
func printDollars(out io.Writer, all []counted) {
	var titles, sums []string
	var bills [][]line
	for _, c := range withModel(all) {
		b := bill(c.tally)
		titles, bills, sums = append(titles, c.title), append(bills, b), append(sums, dollars(total(b)))
	}
	row(out, wide, "Dollars for a million tasks", titles...)
	for i, l := range bills[0] {
		var cells []string
		for _, b := range bills {
			cells = append(cells, dollars(b[i].dollars))
		}
		row(out, wide, "  "+l.name, cells...)
	}
	row(out, wide, "  in all", sums...)
}

// printWaits prints what waiting costs.
func printWaits(out io.Writer, all []wait) {
	row(out, wide, "Dollars for a million waits", "requests", "read units", "GB-seconds", "in all")
	for _, w := range all {
		row(out, wide, "  "+w.name, number(w.requests), number(w.reads), dollars(w.gbs), dollars(w.dollars))
	}
}

// printAssumptions says what the figures rest on.
func printAssumptions(out io.Writer) {
	fmt.Fprintf(out, `What this rests on
  counted    write and read units by the size of each item (infra/dynamo, Meter): a transaction writes twice, indexes are included;
             states entered in local/asl, which runs the machines of statemachine; invocations; requests to S3
  caller     submits with returnImmediately, reads the task where it pauses and where it has ended, answers once; no stream
  leases     are not renewed: a step that takes long costs one write unit more for each renewal (every %s)
  stream     one invocation for each commit with entries, as on a quiet table; on a busy one up to 100 records share one.
             What its filter drops is free, and so is reading the stream
  webhook    where it fails twice, an outage of some seconds that ends while the task waits: the first attempt is the stream function's,
             the others an execution's of the delivery machine
  start      the edge from Start is not counted; where AWS bills it, each execution costs $%.0f more
  assumed    milliseconds: %d for an invocation, %d for a request to DynamoDB, %d to S3, %d to Step Functions; no cold starts.
             MiB: api %d, step %d, settle %d, stream %d, deliver %d (the defaults of template.yaml)
  waiting    for a task to which nothing happens. Watch looks %d times in %s, more seldom the longer nothing happens
  left out   what agents wait for in a step ($%.2f a second), the sweep (one invocation a minute for all tasks together), storage,
             logs, keys, data transfer, free tiers, the purge when a task has expired (15 write units for one of six steps)
  durable    AWS Lambda durable functions, a model of "%s"; nothing of it ran: %d operations of %.0f bytes, a day's wait,
             %.0f days of retention, %d invocations, %.0f write units to keep the task where it can be read and listed; the door
             as counted
  prices     us-east-1, %s (infra/cost/prices.go names the pages)
`, brief(lifecycle.DefaultRenewal), perTransition, ownTime.Milliseconds(), dynamoTime.Milliseconds(), s3Time.Milliseconds(), stepfnTime.Milliseconds(),
		memoryAPI, memoryStep, memorySettle, memoryStream, memoryDeliver,
		dynamo.Looks(waitTime), brief(waitTime),
		gbSeconds(memoryStep, time.Second)*perGBSecond,
		modelOf, operations, operationBytes, retentionDays, durableInvocations, projectionUnits, pricesAt)
}
