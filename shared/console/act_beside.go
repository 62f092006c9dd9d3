package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// replay has a webhook told again what comes after a sequence.
func (c *call) replay() (any, error) {
	var in struct {
		Endpoint string  `json:"endpoint"`
		Since    *uint64 `json:"since"`
	}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if err := text("endpoint", in.Endpoint, lifecycle.MaxIDBytes, true); err != nil {
		return nil, err
	}
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	if in.Since == nil || *in.Since > h.Seq {
		return nil, refuse(errInvalid, "since is the last entry that is not sent again, from 0 to %d.", h.Seq)
	}
	return c.acted(ledger.ActionReplay, fmt.Sprintf("webhook %s, after entry %d", in.Endpoint, *in.Since), func(ctx context.Context) (string, error) {
		if err := c.Replay(ctx, c.ref(), in.Endpoint, *in.Since); err != nil {
			return "", err
		}
		return fmt.Sprintf("Webhook %s is told again what comes after entry %d.", in.Endpoint, *in.Since), nil
	})
}

// settle records what an operator has found out about an effect in doubt, and has the
// task go on with it if that is wanted.
func (c *call) settle() (any, error) {
	var in struct {
		Visit    uint64 `json:"visit"`
		Name     string `json:"name"`
		Revision uint64 `json:"revision"` // of the record that the operator saw
		Done     bool   `json:"done"`
		Result   string `json:"result"` // JSON, when it was done
		Note     string `json:"note"`   // how that is known
		Resume   bool   `json:"resume"`
		seen            // with the record
	}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if err := text("name", in.Name, lifecycle.MaxNameBytes, true); err != nil {
		return nil, err
	}
	if err := text("note", in.Note, maxNoteBytes, true); err != nil {
		return nil, err
	}
	if in.Resume {
		if err := in.seen.check(); err != nil {
			return nil, err
		}
	}
	state, word := lifecycle.EffectFailed, "not done"
	var result bytes.Buffer
	if in.Done {
		state, word = lifecycle.EffectDone, "done"
		if err := json.Compact(&result, []byte(in.Result)); err != nil {
			return nil, refuse(errInvalid, "result is what the step goes on with: it must be JSON, such as \"a text\" or {\"id\": 1}.")
		}
	}
	says, err := c.act(ledger.ActionSettle, fmt.Sprintf("effect %s of visit %d, %s: %s", in.Name, in.Visit, word, in.Note), func(ctx context.Context) (string, error) {
		evidence := fmt.Sprintf("operator %s: %s", c.who.Name, in.Note)
		if err := c.Authority.SettleDoubt(ctx, c.ref(), in.Visit, in.Name, in.Revision, state, result.Bytes(), evidence); err != nil {
			return "", err
		}
		return fmt.Sprintf("Effect %s is settled: %s.", in.Name, word), nil
	})
	if err != nil || !in.Resume {
		return done{says}, err
	}
	// That it goes on later, and not now, takes nothing back of what was settled.
	further, err := c.act(ledger.ActionResume, "its effect is settled", func(ctx context.Context) (string, error) { return c.goOn(ctx, in.Generation) })
	if err != nil {
		_, p := c.explain(err)
		further = "It does not go on now: " + p.Message
	}
	return done{says + " " + further}, nil
}
