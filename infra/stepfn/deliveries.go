package stepfn

import (
	"context"

	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// Deliveries are the executions of the delivery machine.
type Deliveries struct {
	client  Starter
	machine string
}

var _ webhook.Executions = (*Deliveries)(nil)

// NewDeliveries takes what New takes.
func NewDeliveries(client Starter, machineARN string) *Deliveries {
	return &Deliveries{client: client, machine: machineARN}
}

// Start implements webhook.Executions. A name is of one generation of one endpoint as it
// was made, so whoever starts it again means the execution that there is; see
// [Executions.Start].
func (d *Deliveries) Start(ctx context.Context, name string, x webhook.Execution) error {
	return start(ctx, d.client, d.machine, name, x)
}
