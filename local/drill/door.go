package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// extensionURI names the metadata in which the product says more than A2A does.
const extensionURI = "urn:holdfast:a2a:durable-task:v1"

// A2A's names of the states.
const (
	stateSubmitted = "TASK_STATE_SUBMITTED"
	stateWorking   = "TASK_STATE_WORKING"
	stateInput     = "TASK_STATE_INPUT_REQUIRED"
	stateAuth      = "TASK_STATE_AUTH_REQUIRED"
	stateCompleted = "TASK_STATE_COMPLETED"
	stateCanceled  = "TASK_STATE_CANCELED"
	stateFailed    = "TASK_STATE_FAILED"
	stateRejected  = "TASK_STATE_REJECTED"
)

// The reasons of the product's refusals.
const (
	eventConflict    = "EVENT_ID_CONFLICT"
	conflictingBytes = "CONFLICTING_CONTENT"
	coordinateGap    = "COORDINATE_GAP"
	postTerminal     = "POST_TERMINAL"
	fenceLost        = "FENCE_LOST"
	leaseHeld        = "LEASE_HELD"
	staleSequence    = "STALE_SEQUENCE"
	sequenceGap      = "SEQUENCE_GAP"
	cancelRequested  = "CANCEL_REQUESTED"
	illegalMove      = "ILLEGAL_TRANSITION"
	receiptInvalid   = "AUTHORIZATION_RECEIPT_INVALID"
	receiptRequired  = "AUTHORIZATION_RECEIPT_REQUIRED"
	submissionOther  = "SUBMISSION_KEY_CONFLICT"
	notCancelable    = "TASK_NOT_CANCELABLE"
	invalidParams    = "INVALID_PARAMS"
	unsupportedNow   = "UNSUPPORTED_OPERATION"
)

// The agents that take part, and the worker of most tasks.
const (
	outsideAgent     = "drill"
	accessReviewName = "access-review"
	firstProducer    = "w1"
)

// The driver's nouns under their own names.
type (
	answer  = driver.Answer
	object  = driver.Object
	process = driver.Process
)

// until looks until a condition holds. A process that ends meanwhile ends the wait.
func until(ctx context.Context, what string, needs *process, holds func(context.Context) (bool, error)) error {
	return driver.Until(ctx, driver.Wait{What: what, Limit: waitTime, Needs: []*process{needs}}, holds)
}

// door is an agent of the product, by its address.
type door struct {
	*driver.Client

	url string
}

// task is what is read of an A2A task.
type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	Metadata  metadata   `json:"metadata"`
}

type status struct {
	State   string   `json:"state"`
	Message *message `json:"message"`
}

type message struct {
	Parts []part `json:"parts"`
}

type artifact struct {
	ID    string `json:"artifactId"`
	Parts []part `json:"parts"`
}

type part struct {
	Text string `json:"text"`
}

// metadata is the product's own.
type metadata struct {
	Own struct {
		Sequence  uint64     `json:"sequence"`
		Digest    string     `json:"digest"`
		Replay    bool       `json:"replay"`
		Number    int        `json:"number"`
		Checksum  string     `json:"checksum"`
		Pause     int        `json:"pause"`
		Challenge *challenge `json:"challenge"`
		Receipt   *receipt   `json:"receipt"`
	} `json:"urn:holdfast:a2a:durable-task:v1"` // extensionURI
}

// challenge is what a task asks to be authorized.
type challenge struct {
	Number int    `json:"number"`
	Action string `json:"action"`
}

// receipt is what a caller keeps of a task that has ended.
type receipt struct {
	Sequence uint64 `json:"sequence"`
	Digest   string `json:"digest"`
	Manifest string `json:"manifest"`
}

// submit sends a first message. Under the same ID it is the same submission.
func (d door) submit(ctx context.Context, messageID, text string) (answer, error) {
	return d.Ask(ctx, http.MethodPost, d.url+"/message:send", object{
		"configuration": object{"returnImmediately": true},
		"message":       object{"messageId": messageID, "role": "ROLE_USER", "parts": []object{{"text": text}}},
	})
}

// firstText is what every task begins with.
const firstText = "Review the directory."

// begin submits and gives the task.
func (d door) begin(ctx context.Context, messageID string) (task, error) {
	a, err := d.submit(ctx, messageID, firstText)
	if err != nil {
		return task{}, err
	}
	return driver.Sent[task](a)
}

// reply sends a message to a task, as the answer to one question of it.
func (d door) reply(ctx context.Context, id, messageID, text string, pause int) (answer, error) {
	return d.Ask(ctx, http.MethodPost, d.url+"/message:send", object{
		"configuration": object{"returnImmediately": true},
		"message": object{
			"messageId": messageID, "role": "ROLE_USER", "taskId": id, "parts": []object{{"text": text}},
			"metadata": object{extensionURI: object{"pause": pause}},
		},
	})
}

func (d door) task(ctx context.Context, id string) (t task, err error) {
	return t, d.Get(ctx, d.url+"/tasks/"+id, &t)
}

func (d door) cancel(ctx context.Context, id string) (answer, error) {
	return d.Ask(ctx, http.MethodPost, d.url+"/tasks/"+id+":cancel", nil)
}

// authorize presents a receipt out of band.
func (d door) authorize(ctx context.Context, id, text string) (answer, error) {
	return d.Ask(ctx, http.MethodPost, d.url+"/tasks/"+id+"/authorizations", object{"receipt": text})
}

// page is a piece of a task's ledger with its head.
type page struct {
	Entries []entry `json:"entries"`
	Head    head    `json:"head"`
}

type head struct {
	State      string `json:"state"`
	Seq        uint64 `json:"seq"`
	Chain      string `json:"chain"`
	Holder     string `json:"holder"`
	Fence      uint64 `json:"fence"`
	Generation uint64 `json:"generation"`
	Counts     struct {
		Rejections  int `json:"rejections"`
		Incidents   int `json:"incidents"`
		Hits        int `json:"hits"`
		Quarantined int `json:"quarantined"`
	} `json:"counts"`
}

// settled is a head without how often something came in vain: a request whose sender
// did not wait may still arrive.
func (h head) settled() head {
	h.Counts.Hits, h.Counts.Rejections = 0, 0
	return h
}

// entry is one event of a task.
type entry struct {
	Seq           uint64          `json:"seq"`
	Type          string          `json:"type"`
	Payload       json.RawMessage `json:"payload"`
	PayloadDigest string          `json:"payloadDigest"`
	Chain         string          `json:"chain"`
	Producer      string          `json:"producer"`
	EventID       string          `json:"eventId"`
	SourceSeq     uint64          `json:"sourceSeq"`
	Fence         uint64          `json:"fence"`
}

// ledger reads the entries behind a sequence, and the head.
func (d door) ledger(ctx context.Context, id string, after uint64) (page, error) {
	var all page
	for {
		var more page
		if err := d.Get(ctx, fmt.Sprintf("%s/tasks/%s/ledger?after=%d&limit=1000", d.url, id, after), &more); err != nil {
			return all, err
		}
		all.Entries, all.Head = append(all.Entries, more.Entries...), more.Head
		if len(more.Entries) == 0 || more.Entries[len(more.Entries)-1].Seq >= more.Head.Seq {
			return all, nil
		}
		after = more.Entries[len(more.Entries)-1].Seq
	}
}

// chunks is a page of an artifact.
type chunks struct {
	Revision int `json:"revision"`
	Chunks   []struct {
		Number   int    `json:"number"`
		Checksum string `json:"checksum"`
		Part     part   `json:"part"`
		Last     bool   `json:"last"`
		Sequence uint64 `json:"sequence"`
	} `json:"chunks"`
	Total  int  `json:"total"`
	Sealed bool `json:"sealed"`
}

// artifact reads the chunks behind a number.
func (d door) artifact(ctx context.Context, id, name string, after int) (c chunks, err error) {
	return c, d.Get(ctx, fmt.Sprintf("%s/tasks/%s/artifacts/%s?after=%d&limit=1000", d.url, id, name, after), &c)
}

// effect is the record of one outside call.
type effect struct {
	Name  string `json:"name"`
	Key   string `json:"key"`
	State string `json:"state"`
	Calls int    `json:"calls"`
}

func (d door) effects(ctx context.Context, id string) ([]effect, error) {
	var list struct {
		Effects []effect `json:"effects"`
	}
	err := d.Get(ctx, d.url+"/tasks/"+id+"/effects", &list)
	return list.Effects, err
}
