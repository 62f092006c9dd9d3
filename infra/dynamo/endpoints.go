package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// An endpoint is one item of the private table. PutEndpoint writes its
// configuration, Deliver its delivery, Want what is wanted: each of them updates its
// own attributes, and none undoes the others'.
const (
	secretsName   = "secrets"
	createdAtName = "createdAt" // ledger.Endpoint's JSON name
)

// endpointLayout: the ID is the key, secrets are bytes, and the delivery has a
// layout of its own.
var endpointLayout = layout{keyed: map[string]bool{"id": true, secretsName: true, "delivery": true}}

// configNames are the attributes that PutEndpoint replaces.
var configNames = append(slices.DeleteFunc(endpointLayout.names(ledger.Endpoint{}), func(name string) bool { return name == createdAtName }), secretsName)

// encodeConfig makes an endpoint's attributes, the delivery apart.
func encodeConfig(e ledger.Endpoint) (item, error) {
	out, err := endpointLayout.encode(e)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", e.ID, err)
	}
	if len(e.Secrets) > 0 {
		out[secretsName] = &types.AttributeValueMemberB{Value: e.Secrets}
	}
	return out, nil
}

// endpointItem is an endpoint that nobody has delivered to.
func endpointItem(ref lifecycle.Ref, e ledger.Endpoint) (item, error) {
	k := endpointKey(ref, e.ID)
	out, err := encodeConfig(e)
	if err != nil {
		return k.item(), err
	}
	e.Delivery.Revision = 0
	delivery, err := encodeDelivery(ref, e.ID, e.Delivery)
	if err != nil {
		return k.item(), err
	}
	maps.Copy(out, delivery)
	out[partitionName], out[sortName], out[wantedName] = text(k.partition), text(k.sort), number(e.Delivery.Wanted)
	if made := textOrNone(e.Delivery.Incarnation); made != nil {
		out[madeName] = made
	}
	return out, key{textOf(out, dueName), textOf(out, dueSortName)}.check()
}

func decodeEndpoint(it item) (ledger.Endpoint, error) {
	var e ledger.Endpoint
	id, err := endpointID(textOf(it, sortName))
	if err != nil {
		return e, err
	}
	e.ID = id
	if err := endpointLayout.decode(it, &e); err != nil {
		return e, fmt.Errorf("endpoint %q cannot be read: %w", id, err)
	}
	if secrets, is := it[secretsName].(*types.AttributeValueMemberB); is {
		e.Secrets = secrets.Value
	}
	if e.Delivery, err = decodeDelivery(it); err != nil {
		return e, fmt.Errorf("the delivery to endpoint %q cannot be read: %w", id, err)
	}
	return e, nil
}

// changeTries bounds how often an endpoint is looked at again because others came
// first: a person configures it, and one sender at a time delivers to it.
const changeTries = 8

// PutEndpoint implements ledger.Endpoints. The endpoints are counted before one is
// added, so those that are added at the same moment do not see each other. The head
// is only checked: a task that is being removed gets none.
func (l *Ledger) PutEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	if err := e.Check(); err != nil {
		return err
	}
	for range changeTries {
		all, err := l.EndpointList(ctx, ref)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(all, func(one ledger.Endpoint) bool { return one.ID == e.ID })
		switch {
		case known:
			err = l.configure(ctx, ref, e)
		case len(all) >= ledger.MaxEndpoints:
			return fmt.Errorf("task %s: %w (%d)", ref, ledger.ErrTooManyEndpoints, len(all))
		default:
			err = l.addEndpoint(ctx, ref, e)
		}
		r, refused := errors.AsType[*refusal](err)
		if !refused {
			return err
		}
		if !known && r.at(0).failed {
			return noTask(ref)
		}
	}
	return fmt.Errorf("endpoint %q of task %s: %w", e.ID, ref, ledger.ErrBusy)
}

// configure replaces the configuration of one that is there. *refusal: it is not.
func (l *Ledger) configure(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	attributes, err := encodeConfig(e)
	if err != nil {
		return err
	}
	x := (&expression{}).exists()
	for _, name := range configNames {
		x.put(name, attributes[name])
	}
	return l.update(ctx, l.tables.Private, endpointKey(ref, e.ID), x)
}

// addEndpoint writes a new one. *refusal: there is no such task (action 0), or there
// is such an endpoint.
func (l *Ledger) addEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	var t transaction
	t.check(l.tables.Tasks, headKey(ref), (&expression{}).headExists())
	it, err := endpointItem(ref, e)
	t.note(err)
	t.put(l.tables.Private, it, (&expression{}).isNew())
	return l.transact(ctx, &t)
}

// Endpoint implements ledger.Endpoints.
func (l *Ledger) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (ledger.Endpoint, error) {
	it, err := l.get(ctx, l.tables.Private, endpointKey(ref, id))
	if err != nil {
		return ledger.Endpoint{}, err
	}
	if it == nil {
		return ledger.Endpoint{}, noEndpoint(ref, id)
	}
	return decodeEndpoint(it)
}

// EndpointList implements ledger.Endpoints.
func (l *Ledger) EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error) {
	var out []ledger.Endpoint
	err := l.between(ctx, l.tables.Private, ref, endpointPref, afterAll(endpointPref), 0, func(it item) error {
		e, err := decodeEndpoint(it)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("endpoints of task %s: %w", ref, err)
	}
	slices.SortFunc(out, func(a, b ledger.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// DeleteEndpoint implements ledger.Endpoints.
func (l *Ledger) DeleteEndpoint(ctx context.Context, ref lifecycle.Ref, id string) error {
	k := endpointKey(ref, id)
	if err := k.check(); err != nil {
		return err
	}
	_, err := write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.DeleteItemOutput, error) {
		return l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &l.tables.Private, Key: k.item()}, untried)
	})
	return err
}

func noEndpoint(ref lifecycle.Ref, id string) error {
	return fmt.Errorf("endpoint %q of task %s: %w", id, ref, ledger.ErrNotFound)
}
