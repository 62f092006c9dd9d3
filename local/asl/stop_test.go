package asl_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

func TestStopWaitsForInvocationsAndDropsWhatIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		called := make(chan struct{})
		h := newHarness(t, callDefinition, func(i invocation) (string, error) {
			close(called)
			<-release
			return `1`, i.ctx.Err()
		})
		h.start()
		<-called
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.Stop(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop while an invocation runs: %v", err)
		}
		close(release)
		if err := h.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		h.wantPath("Call")
		if err := h.Start("other", []byte(input)); !errors.Is(err, asl.ErrStopped) {
			t.Errorf("Start after Stop: %v", err)
		}
		if stats := h.Stats(); stats.Running != 0 || stats.Parked != 0 || len(h.ended) != 0 {
			t.Errorf("after Stop: %+v, %d ended", stats, len(h.ended))
		}
	})
}

// Not even a state that calls nothing is entered after Stop.
func TestStopBetweenTwoStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *harness
		h = newHarness(t, taskDefinition(t), returns(`{"word":"done"}`), func(o *asl.Options) {
			record := o.OnTransition
			o.OnTransition = func(execution, state string) {
				record(execution, state)
				if state == "Route" {
					now, cancel := context.WithCancel(t.Context())
					cancel()
					if err := h.Stop(now); !errors.Is(err, context.Canceled) {
						t.Errorf("Stop while an execution moves: %v", err)
					}
				}
			}
		})
		h.start()
		synctest.Wait()
		if err := h.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		h.wantPath("Run Route")
		if len(h.ended) != 0 {
			t.Error("a dropped execution was reported as ended")
		}
	})
}
