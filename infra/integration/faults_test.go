package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// faults is a bad day between a process and DynamoDB: of a hundred requests some meet a
// conflict, some are throttled, some never arrive and some are done and never answered.
type faults struct {
	chance *chance
	every  int // of a hundred, for each kind

	mu     sync.Mutex
	played map[string]int
}

func newFaults(c *chance, every int) *faults {
	return &faults{chance: c, every: every, played: map[string]int{}}
}

// The kinds.
const (
	faultConflict  = "conflict"
	faultThrottled = "throttled"
	faultLost      = "request lost"
	faultUnheard   = "reply lost"
)

// meet decides about one request.
func (f *faults) meet(x *exchange) *reply {
	switch f.draw() {
	case faultConflict:
		if answer := conflict(x); answer != nil {
			f.note(faultConflict)
			return answer
		}
	case faultThrottled:
		f.note(faultThrottled)
		return refusal("ProvisionedThroughputExceededException", nil)
	case faultLost:
		f.note(faultLost)
		return nil
	case faultUnheard:
		f.note(faultUnheard)
		x.forward()
		return nil
	}
	return x.forward()
}

func (f *faults) draw() string {
	kinds := []string{faultConflict, faultThrottled, faultLost, faultUnheard}
	if n := f.chance.of(100) / f.every; n < len(kinds) {
		return kinds[n]
	}
	return ""
}

func (f *faults) note(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.played[kind]++
}

// String is how often each kind was played.
func (f *faults) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d conflicts, %d throttled, %d requests lost, %d replies lost", f.played[faultConflict], f.played[faultThrottled], f.played[faultLost], f.played[faultUnheard])
}

// conflict is DynamoDB's answer to a write that met somebody else's transaction; nil
// for what cannot meet one (TransactWriteItems and UpdateItem, API reference).
func conflict(x *exchange) *reply {
	switch x.op {
	case "UpdateItem", "PutItem":
		return refusal("TransactionConflictException", nil)
	case "TransactWriteItems":
		var in struct {
			TransactItems []json.RawMessage `json:"TransactItems"`
		}
		if err := json.Unmarshal(x.body, &in); err != nil || len(in.TransactItems) == 0 {
			return nil
		}
		reasons := make([]map[string]string, len(in.TransactItems))
		for i := range reasons {
			reasons[i] = map[string]string{"Code": "None"}
		}
		reasons[0] = map[string]string{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
		return refusal("TransactionCanceledException", reasons)
	}
	return nil
}

func refusal(code string, reasons any) *reply {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": strings.ToLower(code)}
	if reasons != nil {
		body["CancellationReasons"] = reasons
	}
	text, _ := json.Marshal(body) // texts always encode
	return &reply{http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, text}
}
