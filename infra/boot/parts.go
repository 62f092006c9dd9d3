package boot

import (
	"log/slog"
	"os"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// process is what every function needs of the outside.
type process struct {
	*variables
	logger *slog.Logger
	now    func() time.Time
}

// newProcess reads the environment. It is called once, when a function starts.
func newProcess() process {
	return process{variables: newVariables(os.Environ()), logger: slog.New(lambdacontext.NewLogHandler()), now: time.Now}
}

// newID gives the IDs of tasks and operations: UUIDs in order of time (version 7).
func newID() string { return string(a2a.NewTaskID()) }

func newBlobs(c aws.Config, s storage) ledger.Blobs {
	return blobs.New(s3.NewFromConfig(c), s.bucket)
}

// dispatcher tells executions of the state machine.
func dispatcher(c aws.Config, machine string, a *ledger.Authority, m *health.Monitor, grace time.Duration) *dispatch.Dispatcher {
	return &dispatch.Dispatcher{Authority: a, Executions: stepfn.New(stepfn.NewClient(c), machine), Grace: grace, Watch: m}
}
