package journeys_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// binding is one way to say the same things to the door. The parameters are the
// request message of A2A's proto in JSON, which both take.
type binding struct {
	name string
	rpc  bool
}

// bindings are HTTP+JSON and JSON-RPC.
func bindings() []binding { return []binding{{"HTTP+JSON", false}, {"JSON-RPC", true}} }

// asRPC wraps parameters in JSON-RPC.
func asRPC(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// submit streams what becomes of a submission, also of one that was made before. A
// cursor is sent as a header, or in the metadata.
func (b binding) submit(w *world, text string, cursor *uint64) (*subscriber, error) {
	params, header := send("m", text, ""), []string(nil)
	if cursor != nil && b.rpc {
		params = strings.TrimSuffix(params, "}") + "," + after(*cursor) + "}"
	} else if cursor != nil {
		header = lastID(*cursor)
	}
	return b.open(w, "SendStreamingMessage", http.MethodPost, "/message:stream", params, header)
}

// subscribe streams what becomes of a task that has not ended.
func (b binding) subscribe(w *world, id a2a.TaskID, cursor *uint64) (*subscriber, error) {
	path := "/tasks/" + string(id) + ":subscribe"
	switch {
	case b.rpc && cursor != nil:
		return b.open(w, "SubscribeToTask", "", "", fmt.Sprintf(`{"id":%q}`, id), lastID(*cursor))
	case b.rpc:
		return b.open(w, "SubscribeToTask", "", "", fmt.Sprintf(`{"id":%q}`, id), nil)
	case cursor != nil:
		return b.open(w, "", http.MethodPost, path, "{"+after(*cursor)+"}", nil)
	}
	return b.open(w, "", http.MethodGet, path, "", nil)
}

// after is a cursor in the metadata of a request.
func after(cursor uint64) string {
	return fmt.Sprintf(`"metadata":{%q:{"after":%d}}`, lifecycle.ExtensionURI, cursor)
}

func (b binding) open(w *world, rpcMethod, method, path, params string, header []string) (*subscriber, error) {
	if !b.rpc {
		return w.try(method, path, params, header...)
	}
	s, err := w.try(http.MethodPost, "/rpc", asRPC(rpcMethod, params), append(header, "Content-Type", "application/json")...)
	if err == nil {
		s.lines = bufio.NewReader(&results{from: s.lines})
	}
	return s, err
}

// results is an event stream of JSON-RPC, less the envelopes.
type results struct {
	from *bufio.Reader
	left bytes.Buffer
}

// Read implements io.Reader.
func (r *results) Read(p []byte) (int, error) {
	for r.left.Len() == 0 {
		line, err := r.from.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			var answer struct {
				JSONRPC string          `json:"jsonrpc"`
				ID      int             `json:"id"`
				Result  json.RawMessage `json:"result"`
			}
			if err := json.Unmarshal([]byte(data), &answer); err != nil || answer.JSONRPC != "2.0" || answer.ID != 7 || answer.Result == nil {
				return 0, fmt.Errorf("no JSON-RPC answer: %s (%w)", data, err)
			}
			line = "data: " + string(answer.Result) + "\n"
		}
		r.left.WriteString(line)
	}
	return r.left.Read(p)
}

// result is the answer to an operation, as it stands on the wire.
func (b binding) result(w *world, rpcMethod, method, path, params string) (json.RawMessage, error) {
	var answer json.RawMessage
	if !b.rpc {
		if method == http.MethodGet {
			params = ""
		}
		status, err := w.call(method, path, params, &answer)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		}
		return answer, err
	}
	var envelope struct{ Result, Error json.RawMessage }
	_, err := w.call(http.MethodPost, "/rpc", asRPC(rpcMethod, params), &envelope, "Content-Type", "application/json")
	if err == nil && envelope.Result == nil {
		err = errors.New(rpcMethod + ": " + string(envelope.Error))
	}
	return envelope.Result, err
}

// get is GetTask.
func (b binding) get(w *world, id a2a.TaskID) (json.RawMessage, error) {
	return b.result(w, "GetTask", http.MethodGet, "/tasks/"+string(id), fmt.Sprintf(`{"id":%q}`, id))
}

// cancel is CancelTask.
func (b binding) cancel(w *world, id a2a.TaskID) error {
	_, err := b.result(w, "CancelTask", http.MethodPost, "/tasks/"+string(id)+":cancel", fmt.Sprintf(`{"id":%q}`, id))
	return err
}

// reply is SendMessage to a task that waits.
func (b binding) reply(w *world, id a2a.TaskID, message string) error {
	_, err := b.result(w, "SendMessage", http.MethodPost, "/message:send", send(message, "go on", fmt.Sprintf(`,"taskId":%q`, id)))
	return err
}

// ended says that a stream was refused because the task has ended.
func ended(err error) bool {
	refused, is := errors.AsType[*errRefused](err)
	return is && bytes.Contains(refused.body, []byte("UNSUPPORTED_OPERATION"))
}

// drained is a stream's end, or a cut.
func drained(err error) bool { return errors.Is(err, io.EOF) }
