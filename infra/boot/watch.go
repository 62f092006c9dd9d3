package boot

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// defaultDeployment is the metrics' dimension where nobody has named the deployment.
const defaultDeployment = "holdfast"

// watched is the ledger on the tables, and the monitor that is told of trouble. Lines
// and metrics go where the function logs, in one line.
func (p process) watched(c aws.Config, s storage, t timing) (*dynamo.Ledger, *health.Monitor) {
	m := &health.Monitor{Now: p.now, Window: t.window, Log: metrics.Log{Logger: p.logger, Deployment: s.deployment, Now: p.now}}
	tables := dynamo.New(dynamodb.NewFromConfig(c), s.tables, dynamo.Options{Throttled: m.Throttled})
	m.Findings = tables
	return tables, m
}

// authority is a ledger with its rules, whose refusals are seen.
func (p process) authority(l ledger.Ledger, m *health.Monitor) *ledger.Authority {
	return &ledger.Authority{Ledger: m.Ledger(l), Now: p.now, NewID: newID}
}

// reporter makes reports. That the sweep runs it knows from its notes.
func (p process) reporter(l ledger.Ledger, known *catalog.Catalog, t timing) *health.Reporter {
	return &health.Reporter{
		Ledger: l, Now: p.now, Late: t.late, Window: t.window, PurgePatience: ttlPatience, Known: known.Known, Outside: known.Outside,
	}
}
