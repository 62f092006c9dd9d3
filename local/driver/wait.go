package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Wait is how a condition is waited for.
type Wait struct {
	What  string // the condition, in words
	Limit time.Duration
	Every time.Duration // between two looks; 10 ms unless it says otherwise
	Needs []*Process    // one that ends meanwhile ends the wait
}

// Until looks until a condition holds. What the condition returns as an error is why it
// does not hold yet.
func Until(ctx context.Context, w Wait, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	if w.Every == 0 {
		w.Every = 10 * time.Millisecond
	}
	ticker := time.NewTicker(w.Every)
	defer ticker.Stop()
	var why error
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		if ctx.Err() == nil {
			why = err
		}
		for _, p := range w.Needs {
			if err := p.Alive(); err != nil {
				return fmt.Errorf("waiting until %s: %w", w.What, err)
			}
		}
		select {
		case <-ctx.Done():
			if why == nil {
				why = ctx.Err()
			}
			return fmt.Errorf("waited in vain until %s: %w", w.What, why)
		case <-ticker.C:
		}
	}
}

// Pause lets time pass, unless the run ends before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Listen takes a loopback port that is free.
func Listen(ctx context.Context) (net.Listener, error) {
	const attempts = 50
	var failed error
	for range attempts {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(portCount)))
		if err == nil {
			return listener, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("no free port in %d attempts: %w", attempts, failed)
}

// FreeAddresses are so many loopback addresses that nobody listens on.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	var out []string
	var open []net.Listener
	var failed []error
	for range n {
		listener, err := Listen(ctx)
		if err != nil {
			failed = append(failed, err)
			break
		}
		open, out = append(open, listener), append(out, listener.Addr().String())
	}
	for _, listener := range open {
		failed = append(failed, listener.Close())
	}
	return out, errors.Join(failed...)
}
