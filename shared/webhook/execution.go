package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Execution is what an execution of statemachine/delivery.asl.json is given, and gives
// to its function each time. It is the same for every start of one name.
type Execution struct {
	Tenant      string `json:"tenant"`
	Task        string `json:"taskId"`
	Endpoint    string `json:"endpoint"`
	Incarnation string `json:"incarnation"`
	Generation  uint64 `json:"generation"`
	// Outcome says how it goes on: the machine begins by waiting.
	Outcome Outcome `json:"outcome"`
}

// Outcome is what the machine goes by.
type Outcome struct {
	Word    Word  `json:"word,omitempty"`
	Seconds int64 `json:"seconds"` // of Wait
	// Turns counts the calls of an execution, whose history is bounded.
	Turns int `json:"turns"`
}

// Executions start executions of the delivery machine.
type Executions interface {
	// Start begins one. Twice is once, also when the first one has ended.
	Start(ctx context.Context, name string, x Execution) error
}

func executionOf(at ledger.DueDelivery, d ledger.Delivery, pause time.Duration) Execution {
	return Execution{
		Tenant: at.Ref.Tenant, Task: string(at.Ref.Task), Endpoint: at.ID, Incarnation: d.Incarnation, Generation: d.Generation,
		Outcome: Outcome{Seconds: seconds(pause)},
	}
}

// Name is of the execution of one generation of one endpoint as it was made, and of no
// other: names are remembered for 90 days, and generations only rise.
func (x Execution) Name() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", x.Tenant, x.Task, x.Endpoint, x.Incarnation))
	return x.Task + "-" + hex.EncodeToString(sum[:8]) + "-d" + strconv.FormatUint(x.Generation, 10)
}

func (x Execution) at() ledger.DueDelivery {
	return ledger.DeliveryTo(x.Tenant, x.Task, x.Endpoint)
}

// current says whether no other execution has followed.
func (x Execution) current(d ledger.Delivery) bool {
	return x.Generation == d.Generation && x.Incarnation == d.Incarnation
}

// Hand leaves an endpoint to an execution of its own, which begins at once. Nothing is
// done where somebody is at work, where nobody is wanted, and where somebody was told to
// come whose time is not over. An execution that is not told is followed by another, when
// the sweep comes by.
func (s *Sender) Hand(ctx context.Context, at ledger.DueDelivery) error {
	w := s.work(at, 0)
	var err error
	if w.e, err = s.Endpoints.Endpoint(ctx, at.Ref, at.ID); err != nil {
		return ledger.IgnoreNotFound(err)
	}
	d, now := w.e.Delivery, s.Now()
	if d.State != ledger.DeliveryActive || held(d, now) || !d.NextAt.IsZero() && now.Before(d.DueAt) {
		return nil
	}
	waited := !d.NextAt.IsZero() // somebody was told to come and has not, or came and got nowhere
	w.orphaned(now)
	if d = w.released(); d.State == ledger.DeliveryActive {
		w.again(&d, 0)
	}
	if waited || d.State == ledger.DeliveryGivenUp {
		w.tell(ctx, d, d.Cursor+1)
	}
	switch err := w.write(ctx, d); {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrDeliveryChanged):
		return nil // whoever came first has seen to it
	case err != nil:
		return err
	}
	return s.start(ctx, w.result.Execution)
}

// start tells an execution, where there are any.
func (s *Sender) start(ctx context.Context, x Execution) error {
	if s.Executions == nil || x == (Execution{}) {
		return nil
	}
	return s.Executions.Start(ctx, x.Name(), x)
}

// Handler is the function of the delivery machine.
type Handler struct {
	// Sender reads keys when it is first asked; nothing is lost when it fails.
	Sender func(context.Context) (*Sender, error)
	// Endpoints say whether an execution was followed by another while it waited for keys.
	Endpoints ledger.Endpoints
	// Budget is for one call.
	Budget time.Duration
	Logger *slog.Logger
}

// Handle goes on with an execution, and returns its outcome. What goes wrong on our side
// is waited for: the endpoint is as it was. An error is a payload that nobody sends.
func (h *Handler) Handle(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		Op string `json:"op"`
		Execution
	}
	if err := json.Unmarshal(payload, &asked); err != nil || asked.Op != opDeliver || asked.Task == "" || asked.Endpoint == "" {
		return nil, errors.New("the payload is no operation of statemachine/delivery.asl.json")
	}
	out := h.turn(ctx, asked.Execution)
	return json.Marshal(out)
}

// opDeliver is the one operation of the machine.
const opDeliver = "deliver"

func (h *Handler) turn(ctx context.Context, x Execution) Outcome {
	out := Outcome{Word: Wait, Seconds: seconds(troubleWait), Turns: x.Outcome.Turns + 1}
	sender, err := h.Sender(ctx)
	var result Result
	switch {
	case err == nil:
		result, err = sender.Go(ctx, x, h.Budget)
	case h.followed(ctx, x):
		result, err = Result{Word: Done}, nil
	}
	log := h.Logger.With(slog.String("tenant", x.Tenant), slog.String("task", x.Task), slog.String("endpoint", x.Endpoint), slog.Uint64("generation", x.Generation), slog.Int("turn", out.Turns))
	if err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "a delivery was broken off; it goes on later", slog.Any("error", err))
	} else {
		out.Word, out.Seconds = result.Word, result.Seconds
		log.LogAttrs(ctx, slog.LevelInfo, "deliver", slog.String("word", string(out.Word)), slog.Int64("seconds", out.Seconds), slog.Int("sent", result.Sent), slog.Bool("failed", result.Failed), slog.Bool("held", result.Held), slog.String("state", string(result.State)))
	}
	if out.Word == Wait && out.Turns >= MaxTurns {
		log.LogAttrs(ctx, slog.LevelInfo, "an execution has had its turns; the sweep begins another")
		out.Word, out.Seconds = Done, 0
	}
	return out
}

// followed says whether an execution need not wait for keys any more: the sweep has begun
// another, or the endpoint takes no more updates. With keys the sender finds that out.
func (h *Handler) followed(ctx context.Context, x Execution) bool {
	at := x.at()
	e, err := h.Endpoints.Endpoint(ctx, at.Ref, at.ID)
	if err != nil {
		return errors.Is(err, ledger.ErrNotFound)
	}
	return e.Delivery.State != ledger.DeliveryActive || !x.current(e.Delivery)
}
