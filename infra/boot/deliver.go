package boot

import "github.com/holdfast-a2a/holdfast/shared/webhook"

// deliverBudget is for one turn of an execution: two attempts that take as long as they
// may, and the writes around them, end well before the function does (template.yaml).
const deliverBudget = 2 * webhook.Timeout

// Deliver is the function of the state Deliver.
func Deliver() (Operations, error) { return newProcess().deliver() }

func (p process) deliver() (Operations, error) {
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
