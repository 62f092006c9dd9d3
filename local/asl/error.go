package asl

import (
	"errors"
	"fmt"
)

// The error names that the interpreter itself gives, from "Handling errors in Step Functions workflows".
const (
	// nameAll in an ErrorEquals matches every error but States.Runtime and States.DataLimitExceeded.
	nameAll = "States.ALL"
	// nameTimeout: an attempt took longer than TimeoutSeconds, or no callback came in time.
	nameTimeout = "States.Timeout"
	// nameRuntime: a path finds nothing, a number of seconds is no such number, or the history is full. Never caught.
	nameRuntime = "States.Runtime"
	// nameDataLimitExceeded: a payload or a result is larger than 256 KiB. Never caught.
	nameDataLimitExceeded = "States.DataLimitExceeded"
	// nameResultPathMatchFailure: ResultPath leads through something that is not an object.
	nameResultPathMatchFailure = "States.ResultPathMatchFailure"
	// nameUnknown is the name of an invocation's error that has none of its own.
	nameUnknown = "Lambda.Unknown"
)

// Errors of [Runtime.Start], named after those of StartExecution.
var (
	// ErrExecutionExists: the name was used by an execution that is closed, or that runs with another input.
	ErrExecutionExists = errors.New("asl: execution already exists")
	// ErrInvalidName: a name is 1 to 80 of the characters 0-9 A-Z a-z - _.
	ErrInvalidName = errors.New("asl: invalid execution name")
	// ErrInvalidInput: the input is not JSON, or larger than 256 KiB.
	ErrInvalidInput = errors.New("asl: invalid execution input")
)

// Errors of [Runtime.SendTaskSuccess] and [Runtime.SendTaskFailure], named after those of the service.
var (
	// ErrTaskTimedOut: the token's attempt is closed: answered already, timed out, or failed.
	ErrTaskTimedOut = errors.New("asl: task timed out")
	// ErrTaskNotExist: no attempt of this process has this token, or it was closed too long ago to be remembered.
	ErrTaskNotExist = errors.New("asl: task does not exist")
	// ErrInvalidOutput: the output is not JSON, or larger than 256 KiB. The token stays open.
	ErrInvalidOutput = errors.New("asl: invalid output")
)

// ErrStopped is what every call gets after [Runtime.Stop]; nothing was done.
var ErrStopped = errors.New("asl: runtime stopped")

// Limits on an error that travels through an execution, from the API reference of SendTaskFailure. What is longer is cut.
const (
	maxErrorName  = 256    // characters
	maxErrorCause = 32_768 // characters
)

// Error is a failure as the States Language sees it. An Invoke that returns one decides the name that Retry and Catch
// match.
type Error struct {
	Name  string // matched against ErrorEquals, case and all
	Cause string // for people
}

// Error gives name and cause.
func (e *Error) Error() string { return e.Name + ": " + e.Cause }

// asError turns an invocation's error into a States Language error.
func asError(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return newError(own.Name, own.Cause)
	}
	return newError(nameUnknown, err.Error())
}

func newError(name, cause string) *Error {
	return &Error{Name: cut(name, maxErrorName), Cause: cut(cause, maxErrorCause)}
}

func runtimeError(format string, args ...any) *Error {
	return newError(nameRuntime, fmt.Sprintf(format, args...))
}

// cut shortens s to at most limit characters.
func cut(s string, limit int) string {
	count := 0
	for at := range s {
		if count == limit {
			return s[:at]
		}
		count++
	}
	return s
}
