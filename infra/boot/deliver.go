package boot

import (
	"context"
	"encoding/json"

	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// deliverBudget is for one turn of an execution: two attempts that take as long as they
// may, and the writes around them, end well before the function does (template.yaml).
const deliverBudget = 2 * webhook.Timeout

// Delivering is a function that the delivery machine calls, as what lambda.Start takes.
type Delivering func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)

// Deliver is the function of the state Deliver.
func Deliver() (Delivering, error) { return newProcess().deliver() }

func (p process) deliver() (Delivering, error) {
	s, t, networks := readStorage(p.variables), readTiming(p.variables), readNetworks(p.variables)
	key := readKey(p.variables)
	c := readAWS(p.variables)
	if err := p.err(); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	ring, err := ringOf(c, tables, key)
	if err != nil {
		return nil, err
	}
	hooks := p.push(tables, ring, networks, t.grace, monitor)
	h := &webhook.Handler{Sender: hooks.Sender, Endpoints: tables, Budget: deliverBudget, Logger: p.logger}
	return h.Handle, nil
}
