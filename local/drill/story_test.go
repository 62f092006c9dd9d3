package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestInLanes(t *testing.T) {
	var done atomic.Int64
	if err := inLanes(t.Context(), 100, func(context.Context, int) error { done.Add(1); return nil }); err != nil || done.Load() != 100 {
		t.Errorf("%d of 100, %v", done.Load(), err)
	}
	if err := inLanes(t.Context(), 0, func(context.Context, int) error { return errors.New("nothing was to be done") }); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	err := inLanes(t.Context(), 1000, func(ctx context.Context, i int) error {
		if i == 3 {
			return broken
		}
		if i > 3 {
			<-ctx.Done() // the failure ends all others
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
