package asl

import (
	"math"
	"slices"
	"strings"
	"time"
)

// retrier is one element of Retry ("Retrying after an error").
type retrier struct {
	errors      errorNames
	interval    int     // seconds before the first retry
	backoff     float64 // what each further delay is multiplied with
	maxAttempts int     // retries, not counting the first attempt; 0: never
	maxDelay    int     // seconds; the cap before jitter
	jitter      bool    // FULL: a random part of the delay
}

// catcher is one element of Catch ("Fallback states").
type catcher struct {
	errors errorNames
	place  place
	next   string
}

// errorNames is an ErrorEquals.
type errorNames []string

// match compares exactly. States.ALL matches everything but what no Retry or Catch ever sees.
func (names errorNames) match(err *Error) bool {
	if err.Name == nameRuntime || err.Name == nameDataLimitExceeded {
		return false
	}
	return names[0] == nameAll || slices.Contains(names, err.Name)
}

// parseErrorNames takes ErrorEquals. States.ALL must be alone and in the last element. Of the reserved names only those that this
// interpreter can raise, and that a Retry or Catch can see, are known.
func parseErrorNames(o *object, last bool) errorNames {
	var names errorNames
	o.into("ErrorEquals", (*[]string)(&names))
	if len(names) == 0 {
		o.fail("ErrorEquals", "is empty")
	}
	for _, name := range names {
		switch {
		case name == nameAll:
			if len(names) > 1 || !last {
				o.fail("ErrorEquals", "%s must stand alone and last", nameAll)
			}
		case name == nameTimeout, name == nameResultPathMatchFailure:
		case name == "", strings.HasPrefix(name, "States."):
			o.fail("ErrorEquals", "the error name %q is not known to this interpreter", name)
		}
	}
	return names
}

// parseRetry takes Retry, if it is there. Defaults are those of the language: 1 s, 3 attempts, doubling; the cap must be said,
// since a delay without one is a retry that never comes.
func parseRetry(o *object) []retrier {
	if !o.has("Retry") {
		return nil
	}
	list := o.list("Retry")
	retriers := make([]retrier, 0, len(list))
	for i, each := range list {
		rt := retrier{errors: parseErrorNames(each, i == len(list)-1), interval: 1, backoff: 2, maxAttempts: 3}
		if each.has("IntervalSeconds") {
			rt.interval = each.whole("IntervalSeconds", 1, maxSeconds)
		}
		if each.has("BackoffRate") {
			each.into("BackoffRate", &rt.backoff)
			if rt.backoff < 1 {
				each.fail("BackoffRate", "want 1.0 or more")
			}
		}
		if each.has("MaxAttempts") {
			rt.maxAttempts = each.whole("MaxAttempts", 0, maxRetryRounds)
		}
		rt.maxDelay = each.whole("MaxDelaySeconds", rt.interval+1, maxRetryDelay)
		if each.has("JitterStrategy") {
			strategy := each.text("JitterStrategy")
			rt.jitter = strategy == "FULL"
			if !rt.jitter && strategy != "NONE" {
				each.fail("JitterStrategy", "want FULL or NONE")
			}
		}
		retriers = append(retriers, rt)
		o.adopt(each.done())
	}
	return retriers
}

// delay gives the time before the n-th retry, counted from 1. random is in [0, 1).
func (rt retrier) delay(n int, random func() float64) time.Duration {
	seconds := min(float64(rt.interval)*math.Pow(rt.backoff, float64(n-1)), float64(rt.maxDelay))
	if rt.jitter {
		seconds *= random()
	}
	return time.Duration(seconds * float64(time.Second))
}

// parseCatch takes Catch, if it is there.
func parseCatch(o *object) []catcher {
	if !o.has("Catch") {
		return nil
	}
	list := o.list("Catch")
	catchers := make([]catcher, 0, len(list))
	for i, each := range list {
		catchers = append(catchers, catcher{
			errors: parseErrorNames(each, i == len(list)-1),
			place:  parsePlace(each),
			next:   each.text("Next"),
		})
		o.adopt(each.done())
	}
	return catchers
}
