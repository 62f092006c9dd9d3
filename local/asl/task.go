package asl

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// callbackResource invokes a function and then waits for its token ("Wait for a Callback with Task Token").
const callbackResource = "arn:aws:states:::lambda:invoke.waitForTaskToken"

// functionARN is a Lambda function, maybe with a version or an alias.
var functionARN = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?$`)

// What an attempt adds to the history, from the API reference of HistoryEvent.
const (
	eventsOfInvocation = 3 // LambdaFunctionScheduled, -Started, and -Succeeded, -Failed or -TimedOut
	eventsOfCallback   = 4 // TaskScheduled, -Started, -Submitted, and -Succeeded, -Failed or -TimedOut
)

// task is a Task state.
type task struct {
	function string // ARN
	callback bool
	payload  template
	place    place
	timeout  span // of one attempt, its callback included
	retry    []retrier
	catch    []catcher
	next     string
}

// parseTask reads a task. A time limit must be said: the language's own default is over three years.
func parseTask(o *object) state {
	t := &task{}
	parameters := parseObject(o.where+": Parameters", o.take("Parameters"))
	switch resource := o.text("Resource"); {
	case resource == callbackResource:
		t.callback = true
		t.function = parameters.text("FunctionName")
		payload := parseObject(o.where+": Payload", parameters.take("Payload"))
		t.payload = parseTemplate(payload)
		parameters.adopt(payload.done())
		if !functionARN.MatchString(t.function) {
			parameters.fail("FunctionName", "%q is not the ARN of a Lambda function", t.function)
		}
	case functionARN.MatchString(resource):
		t.function = resource
		t.payload = parseTemplate(parameters)
	default:
		o.fail("Resource", "%q is not known to this interpreter", resource)
		return t
	}
	o.adopt(parameters.done())
	if t.callback != t.payload.carriesToken() {
		o.fail("Parameters", "$$.Task.Token belongs into the payload of a callback task, and nowhere else")
	}
	t.timeout = parseSpan(o, "TimeoutSeconds", 1)
	t.place = parsePlace(o)
	t.retry = parseRetry(o)
	t.catch = parseCatch(o)
	t.next = o.text("Next")
	return t
}

func (t *task) targets() []string {
	targets := []string{t.next}
	for _, c := range t.catch {
		targets = append(targets, c.next)
	}
	return targets
}

// events is what one attempt adds to the history.
func (t *task) events() int {
	if t.callback {
		return eventsOfCallback
	}
	return eventsOfInvocation
}

// conclude turns the outcome of an attempt into what comes next: the next state, a retry after its backoff, the state that
// catches, or the end. err nil means success with that output.
func (t *task) conclude(r *Runtime, e *execution, output json.RawMessage, err *Error) move {
	if err == nil {
		if err = t.accept(e, output); err == nil {
			return moveTo(t.next)
		}
	}
	for i, rt := range t.retry {
		if !rt.errors.match(err) {
			continue
		}
		if e.tries == nil {
			e.tries = make([]int, len(t.retry))
		}
		if e.tries[i] < rt.maxAttempts {
			e.tries[i]++
			e.retries++
			return r.park(e, rt.delay(e.tries[i], r.options.Rand), move{kind: again})
		}
		break // the first retrier that names the error decides
	}
	for _, c := range t.catch {
		if !c.errors.match(err) {
			continue
		}
		data, misplaced := c.place.put(e.data, map[string]any{"Error": err.Name, "Cause": err.Cause})
		if misplaced != nil {
			return move{kind: failed, err: misplaced}
		}
		e.data = data
		return moveTo(c.next)
	}
	return move{kind: failed, err: err}
}

// accept puts a successful attempt's output into the execution's data.
func (t *task) accept(e *execution, output json.RawMessage) *Error {
	if len(output) > maxPayload {
		return newError(nameDataLimitExceeded, "the result of state "+e.at.name+" is larger than 256 KiB")
	}
	if t.place.discard {
		return nil
	}
	value, err := decode(output)
	if err != nil {
		return newError(nameUnknown, "the result of state "+e.at.name+" is not JSON: "+err.Error())
	}
	data, misplaced := t.place.put(e.data, value)
	if misplaced == nil {
		e.data = data
	}
	return misplaced
}

// decode reads one JSON value and keeps its numbers as they are written.
func decode(data []byte) (any, error) {
	if !json.Valid(data) { // a Decoder would overlook what follows the value
		return nil, json.Unmarshal(data, new(any))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	err := dec.Decode(&value)
	return value, err
}
