package receiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Store keeps what was taken. Whoever has a database puts the update, and what it brings
// about there, into one transaction, with the rules of Inbox.Take.
type Store interface {
	// Take stores an update for good, unless it was stored before or comes after a later
	// one of its task: then it says why. An error: it is not known to be stored.
	Take(ctx context.Context, u Update) (Outcome, error)
}

// Outcome is what became of a verified update.
type Outcome string

// Outcomes. All of them are answered with success.
const (
	Taken  Outcome = "taken"  // stored now
	Repeat Outcome = "repeat" // stored before, under the same webhook-id
	Late   Outcome = "late"   // not above the task's last sequence
)

// Receiver is the handler of a webhook's address. It is safe for concurrent use.
type Receiver struct {
	Keys  *Keys
	Store Store
	// Token is what the webhook was configured with. Without one, everybody whose agent
	// runs on the same deployment can have updates of theirs sent here.
	Token string
	// Told hears of every request before it is answered: of an update that was stored, was
	// not for the Outcome's reason, or of why it was refused. nil: nobody.
	Told func(u Update, o Outcome, refused error)
}

// refusal is a request that is not taken, and the answer to it.
type refusal struct {
	status int
	error
}

// Unwrap gives the reason.
func (r refusal) Unwrap() error { return r.error }

// ServeHTTP implements http.Handler.
func (v *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u, outcome, err := v.take(w, r)
	if v.Told != nil {
		v.Told(u, outcome, err)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusInternalServerError
	if refused, is := errors.AsType[refusal](err); is {
		status = refused.status
	}
	http.Error(w, http.StatusText(status), status) // the reason is for our log
}

func (v *Receiver) take(w http.ResponseWriter, r *http.Request) (u Update, o Outcome, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return u, "", refusal{http.StatusMethodNotAllowed, fmt.Errorf("it is a %s", r.Method)}
	}
	if !meant(r.Header, v.Token) {
		return u, "", refusal{http.StatusUnauthorized, errors.New("it does not have our token")}
	}
	if r.ContentLength > maxBodyBytes {
		return u, "", refusal{http.StatusRequestEntityTooLarge, fmt.Errorf("it has %d bytes", r.ContentLength)}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return u, "", refusal{http.StatusRequestEntityTooLarge, err}
	}
	if err != nil {
		return u, "", refusal{http.StatusBadRequest, fmt.Errorf("it was cut off: %w", err)}
	}
	id, err := v.Keys.verify(r.Context(), r.Header, body)
	if err != nil {
		return u, "", err
	}
	if u, err = readUpdate(id, r.Header, body); err != nil {
		return u, "", err
	}
	// Whether the sender still waits is no reason to store half of it.
	o, err = v.Store.Take(context.WithoutCancel(r.Context()), u)
	return u, o, err
}
