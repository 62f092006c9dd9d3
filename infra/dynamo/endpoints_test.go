package dynamo

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// endpoint is one with everything set, whose sender is at work.
func endpoint() ledger.Endpoint {
	var e ledger.Endpoint
	fill(reflect.ValueOf(&e).Elem())
	e.Delivery.State, e.Delivery.Revision = ledger.DeliveryActive, 0
	return e
}

// idleEndpoint has delivered everything.
func idleEndpoint() ledger.Endpoint {
	e := endpoint()
	e.Delivery.Holder, e.Delivery.LeaseUntil, e.Delivery.NextAt = "", time.Time{}, time.Time{}
	return e
}

func endpointStored(t *testing.T, e ledger.Endpoint) item {
	t.Helper()
	it, err := endpointItem(seen().Ref(), e)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// TestEndpointItem: every field survives, whatever field is added, and every
// attribute is one that PutEndpoint, Deliver or Want replaces, or none of them.
func TestEndpointItem(t *testing.T) {
	once := slices.Concat(configNames, deliveryNames, []string{createdAtName, wantedName, madeName, partitionName, sortName})
	if distinct := slices.Compact(slices.Sorted(slices.Values(once))); len(distinct) != len(once) {
		t.Errorf("an attribute belongs to two writers: %q", once)
	}
	given, disabled := endpoint(), endpoint()
	disabled.Delivery.State, disabled.Delivery.DueAt = ledger.DeliveryDisabled, time.Time{}
	for name, want := range map[string]ledger.Endpoint{"at work": given, "idle": idleEndpoint(), "disabled": disabled, "plain": {ID: "one", URL: "https://example.com"}} {
		it := endpointStored(t, want)
		for attribute := range it {
			if !slices.Contains(once, attribute) {
				t.Errorf("%s: nobody replaces attribute %s", name, attribute)
			}
		}
		if got, err := decodeEndpoint(it); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s comes back as\n%+v (%v), want\n%+v", name, got, err, want)
		}
	}
}

// TestEndpointIndexUnits: the index is written to when an endpoint becomes due at
// another time, and never else.
func TestEndpointIndexUnits(t *testing.T) {
	before := endpointStored(t, endpoint())
	later, wanted, never := endpoint(), endpoint(), endpoint()
	later.Delivery.DueAt = later.Delivery.DueAt.Add(time.Second)
	wanted.Delivery.Wanted++
	never.Delivery.DueAt = time.Time{}
	for name, c := range map[string]struct {
		after item
		want  float64
	}{"nothing": {before, 0}, "more is wanted": {endpointStored(t, wanted), 0}, "another time": {endpointStored(t, later), 2}, "never again": {endpointStored(t, never), 1}, "removed": {nil, 1}} {
		if got := indexUnits(before, c.after); got != c.want {
			t.Errorf("%s costs %.0f units in the index, want %.0f", name, got, c.want)
		}
	}
	if got := indexUnits(nil, before); got != 1 {
		t.Errorf("a new endpoint costs %.0f units in the index, want 1", got)
	}
}

// TestWantRequests: one update in the ordinary cases, and a bounded number in any.
func TestWantRequests(t *testing.T) {
	behind, level := endpoint(), endpoint()
	behind.Delivery.Wanted, behind.Delivery.State, behind.Delivery.DueAt = 1, ledger.DeliveryGivenUp, time.Time{}
	level.Delivery.Wanted = 5
	out := answer{err: conditionFailed(endpointStored(t, behind))}
	for _, c := range []struct {
		name    string
		answers []answer
		want    error
	}{
		{"raised", []answer{{}}, nil},
		{"known already", []answer{{err: conditionFailed(endpointStored(t, level))}}, nil},
		{"removed", []answer{{err: conditionFailed(nil)}}, ledger.ErrNotFound},
		{"nobody looks at it", []answer{out, {}}, nil},
		{"others at every turn", slices.Repeat([]answer{out}, changeTries), ledger.ErrBusy},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := played(t, c.answers...)
			if err := l.Want(t.Context(), seen().Ref(), "one", 5, time.Unix(1, 0)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			s.want(slices.Repeat([]string{"UpdateItem"}, len(c.answers))...)
		})
	}
}

// TestPutEndpointRequests: what is there is read, and then changed in one request;
// whoever comes in between makes it look again.
func TestPutEndpointRequests(t *testing.T) {
	e := endpoint()
	none, there := answer{out: &dynamodb.QueryOutput{}}, answer{out: &dynamodb.QueryOutput{Items: []item{endpointStored(t, e)}}}
	gone, exists := answer{err: conditionFailed(nil)}, answer{err: canceled(nothing(), because(codeConditionFailed, endpointStored(t, e)))}
	noHead := answer{err: canceled(because(codeConditionFailed, nil), nothing())}
	for _, c := range []struct {
		name    string
		answers []answer
		want    error
		asked   []string
	}{
		{"new", []answer{none, {}}, nil, []string{"Query", "TransactWriteItems"}},
		{"there", []answer{there, {}}, nil, []string{"Query", "UpdateItem"}},
		{"no task", []answer{none, noHead}, ledger.ErrNotFound, []string{"Query", "TransactWriteItems"}},
		{"removed in between", []answer{there, gone, none, {}}, nil, []string{"Query", "UpdateItem", "Query", "TransactWriteItems"}},
		{"added in between", []answer{none, exists, there, {}}, nil, []string{"Query", "TransactWriteItems", "Query", "UpdateItem"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := played(t, c.answers...)
			if err := l.PutEndpoint(t.Context(), seen().Ref(), e); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			s.want(c.asked...)
		})
	}
}
