package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Attributes of a delivery beside those of its layout. When it is due is told by its
// place in the index.
const (
	wantedName   = "wanted"   // always there, for Want compares with it
	madeName     = "made"     // the incarnation; written once
	attemptsName = "attempts" // JSON
	// heldName is the place in the index of a delivery that is not idle: Want puts
	// it back there, and an idle one at the present instant, without knowing which of
	// them it meets.
	heldName = "held"
	// outName marks a delivery that is not idle and in no index.
	outName = "out"
)

var deliveryLayout = layout{keyed: map[string]bool{wantedName: true, revisionName: true, "incarnation": true, "dueAt": true, attemptsName: true}}

// deliveryNames are the attributes that Deliver replaces.
var deliveryNames = append(deliveryLayout.names(ledger.Delivery{}), revisionName, attemptsName, heldName, outName, dueName, dueSortName)

// encodeDelivery makes a delivery's attributes, without what is wanted.
func encodeDelivery(ref lifecycle.Ref, id string, d ledger.Delivery) (item, error) {
	out, err := deliveryLayout.encode(d)
	if err != nil {
		return nil, fmt.Errorf("the delivery to endpoint %q: %w", id, err)
	}
	out[revisionName] = number(d.Revision)
	if len(d.Attempts) > 0 {
		attempts, err := json.Marshal(d.Attempts)
		if err != nil {
			return nil, fmt.Errorf("the attempts at endpoint %q: %w", id, err)
		}
		out[attemptsName] = text(string(attempts))
	}
	if !d.DueAt.IsZero() {
		out[dueName], out[dueSortName] = text(deliveryShard(ref, id)), text(deliverySort(d.DueAt, ref, id))
	}
	switch {
	case d.Idle():
	case d.DueAt.IsZero():
		out[outName] = number(1)
	default:
		out[heldName] = out[dueSortName]
	}
	return out, nil
}

func decodeDelivery(it item) (ledger.Delivery, error) {
	var d ledger.Delivery
	if err := deliveryLayout.decode(it, &d); err != nil {
		return d, err
	}
	d.Wanted, d.Revision, d.Incarnation = uint64(countOf(it, wantedName)), uint64(countOf(it, revisionName)), textOf(it, madeName)
	if attempts := textOf(it, attemptsName); attempts != "" {
		if err := json.Unmarshal([]byte(attempts), &d.Attempts); err != nil {
			return d, err
		}
	}
	if place := textOf(it, dueSortName); place != "" {
		c, err := parseDelivery(place)
		if err != nil {
			return d, err
		}
		d.DueAt = c.DueAt
	}
	return d, nil
}

// parseDelivery reads a place in the index of endpoints that are due.
func parseDelivery(place string) (ledger.DeliveryCursor, error) {
	parts, err := split(place)
	if err != nil || len(parts) != 4 {
		return ledger.DeliveryCursor{}, fmt.Errorf("%q is no place in the index of endpoints that are due", place)
	}
	at, err := parseInstant(parts[0])
	return ledger.DeliveryCursor{DueAt: at, Ref: lifecycle.Ref{Tenant: parts[1], Task: a2a.TaskID(parts[2])}, ID: parts[3]}, err
}

// Want implements ledger.Endpoints. It is one update of an endpoint that is idle,
// held or to be tried again, and two of one that nobody ever looks at.
func (l *Ledger) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	k := endpointKey(ref, id)
	due := &expression{}
	due.exists().compare(wantedName, "<", number(seq)).absent(outName).put(wantedName, number(seq)).put(dueName, text(deliveryShard(ref, id)))
	due.set = append(due.set, due.name(dueSortName)+" = if_not_exists("+due.name(heldName)+", "+due.value(text(deliverySort(now, ref, id)))+")")
	out := (&expression{}).exists().compare(wantedName, "<", number(seq)).present(outName).put(wantedName, number(seq))
	for try := range changeTries {
		x := due
		if try%2 == 1 {
			x = out
		}
		err := l.update(ctx, l.tables.Private, k, x)
		r, refused := errors.AsType[*refusal](err)
		switch {
		case !refused:
			return err
		case r.at(0).old == nil:
			return noEndpoint(ref, id)
		case uint64(countOf(r.at(0).old, wantedName)) >= seq:
			return nil
		}
	}
	return fmt.Errorf("endpoint %q of task %s: %w", id, ref, ledger.ErrBusy)
}

// Deliver implements ledger.Endpoints.
func (l *Ledger) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	if err := d.Check(); err != nil {
		return err
	}
	attributes, err := encodeDelivery(ref, id, d)
	if err != nil {
		return err
	}
	x := (&expression{}).exists().is(madeName, textOrNone(d.Incarnation)).compare(revisionName, "=", number(d.Revision-1)) // before 0 is what nobody reaches
	if d.Idle() {
		x.compare(wantedName, "<=", number(d.Cursor))
	}
	for _, name := range deliveryNames {
		x.put(name, attributes[name])
	}
	err = l.update(ctx, l.tables.Private, endpointKey(ref, id), x)
	r, refused := errors.AsType[*refusal](err)
	switch {
	case !refused:
		return err
	case r.at(0).old == nil:
		return noEndpoint(ref, id)
	}
	return fmt.Errorf("endpoint %q of task %s is not at the revision before %d, was made anew, or more is wanted than %d: %w", id, ref, d.Revision, d.Cursor, ledger.ErrDeliveryChanged)
}

func deliverySpan(before time.Time, after *ledger.DeliveryCursor, limit int) span {
	s := dueUntil("", before, limit)
	if after != nil {
		// A place has nothing behind the endpoint's name, so the next one is just after it.
		s.first = deliverySort(after.DueAt, after.Ref, after.ID) + "\x00"
	}
	return s
}

// DueDeliveries implements ledger.Endpoints. Keys alone tell what is due: no
// endpoint is read.
func (l *Ledger) DueDeliveries(ctx context.Context, before time.Time, after *ledger.DeliveryCursor, limit int) (ledger.DeliveryPage, error) {
	var page ledger.DeliveryPage
	s := deliverySpan(before, after, limit)
	if s.empty() {
		return page, ctx.Err()
	}
	keys := l.scan(l.tables.Private, s)
	for last := (ledger.DeliveryCursor{}); ; {
		h, more, err := keys.take(ctx)
		if err != nil {
			return ledger.DeliveryPage{}, err
		}
		if !more {
			return page, nil
		}
		if limit > 0 && len(page.Due) == limit {
			page.Next = &last
			return page, nil
		}
		if last, err = parseDelivery(h.place); err != nil {
			return ledger.DeliveryPage{}, err
		}
		page.Due = append(page.Due, ledger.DueDelivery{Ref: last.Ref, ID: last.ID})
	}
}
