package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// A secret is planted in each place where a credential arrives; then everything that
// this process has written or said is searched for all of them (I9).
//
// Real: the node, its ledger on the disk, TCP, the clock. Ours are the agent, which
// asks for authorization and fails in loud ways, the issuer of receipts, and the
// receiver of webhooks, which repeats the headers that it got.

func said(id, text, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s},"configuration":{"returnImmediately":true}}`, id, text, more)
}

// inBand is a message to a task with a receipt, or with anything in its place.
func inBand(id string, task a2a.TaskID, text, receipt string) string {
	return said(id, text, fmt.Sprintf(`,"taskId":%q,"metadata":{%q:{"authorization":%s}}`, task, lifecycle.ExtensionURI, receipt))
}

func TestNoSecretIsKept(t *testing.T) {
	s := newScene(t)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.absent("a webhook's body", body, "")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = r.Header.Write(w) // what its error could show
	}))
	defer echo.Close()

	task := s.begins(echo.URL)
	s.authorizes(task)
	failed := s.must(http.MethodPost, "/message:send", said("m-fail", "fail", ""))
	s.until(failed.ID, lifecycle.Head.Terminal)
	s.strangers(task)
	s.echoes(task)

	inspected := s.inspects(task, failed.ID)
	for _, want := range []string{"receipt-1", "receipt-2", "[redacted]"} {
		if !strings.Contains(inspected, want) {
			t.Errorf("the ledger does not show %q: this test searches the wrong place", want)
		}
	}
	s.stopped()
	s.searches()
}

// begins submits a task with webhooks that have secrets, and watches it.
func (s *scene) begins(hook string) a2a.TaskID {
	s.t.Helper()
	config := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"url":%q,"token":%q,"authentication":{"scheme":"Bearer","credentials":%q}}`, id, hook, s.in("push token"), s.in("push authentication"))
	}
	body := strings.Replace(said("m-1", "open", ""), `"returnImmediately":true`, `"returnImmediately":true,"taskPushNotificationConfig":`+config("one"), 1)
	id := s.must(http.MethodPost, "/message:send", body, "Idempotency-Key", s.in("header: Idempotency-Key"), "Cookie", "session="+s.in("header: Cookie")).ID
	hooks := "/tasks/" + string(id) + "/pushNotificationConfigs"
	s.must(http.MethodPost, hooks, config("two"))
	s.must(http.MethodGet, hooks+"/one", "")
	s.must(http.MethodGet, hooks, "")
	if status, _ := s.ask(http.MethodPost, hooks, fmt.Sprintf(`{"id":"three","url":"https://robot:%s@example.com/"}`, s.in("push address: password"))); status != http.StatusBadRequest {
		s.t.Errorf("an address with a password: %d", status)
	}
	if status, _ := s.ask(http.MethodPost, hooks, fmt.Sprintf(`{"id":"four","url":%q,"token":["%s"],"authentication":{"scheme":7,"credentials":{"a":%q}}}`, hook, s.in("push token"), s.in("push authentication"))); status != http.StatusBadRequest {
		s.t.Errorf("secrets of a wrong type: %d", status)
	}
	return id
}

// authorizes brings receipts of all kinds, in band and out of it, while a stream is open.
func (s *scene) authorizes(id a2a.TaskID) {
	s.t.Helper()
	stream := s.open(http.MethodGet, "/tasks/"+string(id)+":subscribe?access_token="+s.in("query of a stream"), "")
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(&s.said, stream.Body)
		ended <- errors.Join(err, stream.Body.Close())
	}()
	pause := func(number int) func(lifecycle.Head) bool {
		return func(h lifecycle.Head) bool { return h.Challenge != nil && h.Challenge.Number == number }
	}
	path := "/tasks/" + string(id) + "/authorizations"
	s.until(id, pause(1))
	s.parked(id, 1)
	forged := s.receipt(s.sign(id, 1, "open the vault", "forged") + "AA")
	for i, bad := range []string{forged, s.sign(id, 1, "another action", "bad-1"), s.sign("another", 1, "open the vault", "bad-2"), s.in("receipt that is none"), s.in("receipt that is none") + "." + s.in("receipt that is none") + ".x"} {
		if status, _ := s.ask(http.MethodPost, path, fmt.Sprintf(`{"receipt":%q}`, bad)); status != http.StatusBadRequest {
			s.t.Errorf("bad receipt %d: %d", i, status)
		}
		if status, _ := s.ask(http.MethodPost, "/message:send", inBand(fmt.Sprint("m-bad-", i), id, "Here.", fmt.Sprintf("%q", bad))); status != http.StatusBadRequest {
			s.t.Errorf("bad receipt %d in band: %d", i, status)
		}
	}
	for _, odd := range []string{`["%s"]`, `{"a":"%s"}`} {
		if status, _ := s.ask(http.MethodPost, "/message:send", inBand("m-odd", id, "Here.", fmt.Sprintf(odd, s.in("receipt of a wrong type")))); status != http.StatusBadRequest {
			s.t.Errorf("a receipt of a wrong type: %d", status)
		}
	}
	good := s.sign(id, 1, "open the vault", "receipt-1")
	s.must(http.MethodPost, path+"?receipt="+s.in("query"), fmt.Sprintf(`{"receipt":%q}`, good))
	s.must(http.MethodPost, path, fmt.Sprintf(`{"receipt":%q}`, good)) // again
	s.until(id, pause(2))
	s.parked(id, 2)
	s.must(http.MethodPost, "/message:send", inBand("m-2", id, "a large answer "+strings.Repeat("x", 64<<10), fmt.Sprintf("%q", s.sign(id, 2, "empty the vault", "receipt-2"))))
	if err := <-ended; err != nil { // at the end of the task
		s.t.Error(err)
	}
	if status, _ := s.ask(http.MethodPost, path, fmt.Sprintf(`{"receipt":%q}`, s.sign(id, 2, "empty the vault", "late"))); status != http.StatusBadRequest {
		s.t.Errorf("a receipt for a task that has ended: %d", status)
	}
}

// strangers bring credentials that are not taken.
func (s *scene) strangers(id a2a.TaskID) {
	s.t.Helper()
	for _, headers := range [][]string{
		{"Authorization", "Bearer " + s.in("header: bearer")},
		{"Authorization", "Bearer " + s.in("header: token") + "." + s.in("header: token") + ".x"},
		{"Authorization", "Basic " + s.in("header: basic")},
		{"Authorization", s.in("header: no scheme")},
		{"X-API-Key", s.in("header: X-API-Key")},
		{"X-API-Key", s.in("header: X-API-Key") + "!?"},
	} {
		for _, path := range []string{"/tasks/" + string(id), "/tasks/" + string(id) + ":subscribe", "/tasks/" + string(id) + "/ledger"} {
			if status, _ := s.ask(http.MethodGet, path+"?key="+s.in("query of a stranger"), "", headers...); status != http.StatusUnauthorized {
				s.t.Errorf("%s: %d", path, status)
			}
		}
		s.ask(http.MethodPost, "/rpc", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, headers...)
	}
}

// echoes sends what an error could repeat.
func (s *scene) echoes(id a2a.TaskID) {
	s.t.Helper()
	task := "/tasks/" + string(id)
	for _, query := range []string{"pageToken", "pageSize", "status", "historyLength", "statusTimestampAfter", "includeArtifacts", "tenant", "receipt", "access_token"} {
		s.ask(http.MethodGet, "/tasks?"+query+"="+s.in("query: "+query), "")
		s.ask(http.MethodGet, task+"?"+query+"="+s.in("query: "+query), "")
		s.ask(http.MethodGet, task+"/ledger?after="+s.in("query: after")+"&"+query+"="+s.in("query: "+query), "")
	}
	s.ask(http.MethodGet, task+"?%zz="+s.in("query that is malformed"), "")
	s.ask(http.MethodGet, "/nothing/here?token="+s.in("query of no address"), "")
	for _, header := range []string{"A2A-Version", "A2A-Extensions", "Content-Type", "Accept", "Last-Event-ID", "Idempotency-Key", "Proxy-Authorization", "Origin"} {
		s.ask(http.MethodPost, "/message:send", `{}`, header, s.in("header: "+header))
		s.ask(http.MethodGet, task+":subscribe", "", header, s.in("header: "+header))
	}
	for _, body := range []string{
		`{"message":%q}`, `{"message":{"role":%q}}`, `{"message":{"messageId":{"a":%q}}}`, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"*%s"}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"urn:holdfast:a2a:durable-task:v1":%q}}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"urn:holdfast:a2a:durable-task:v1":{"pause":%q}}}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"urn:holdfast:a2a:durable-task:v1":{"authorization":%q}}}}`,
		`{"message":"%s`, `%s`, `{"tenant":%q,"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		`{"configuration":{"historyLength":%q}}`, `{"configuration":{"taskPushNotificationConfig":%q}}`,
	} {
		if status, answer := s.ask(http.MethodPost, "/message:send", fmt.Sprintf(body, s.in("body: "+body))); status < 400 {
			s.t.Errorf("%s was taken: %s", body, answer)
		}
	}
	for _, body := range []string{`{"jsonrpc":%q}`, `{"jsonrpc":"2.0","id":1,"method":%q}`, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":%q}`, `{"jsonrpc":"2.0","id":{"a":%q}}`} {
		s.ask(http.MethodPost, "/rpc", fmt.Sprintf(body, s.in("body: "+body)))
	}
}

// inspects reads all that this server shows of tasks, and all that its ledger keeps
// beside them.
func (s *scene) inspects(tasks ...a2a.TaskID) string {
	s.t.Helper()
	var all strings.Builder
	for _, id := range tasks {
		for _, path := range []string{"", "/ledger?limit=1000", "/export", "/effects", "/pushNotificationConfigs"} {
			status, answer := s.ask(http.MethodGet, "/tasks/"+string(id)+path, "")
			if status != http.StatusOK {
				s.t.Errorf("%s: %d %s", path, status, answer)
			}
			all.WriteString(answer)
		}
		kept, err := s.book.Rejections(s.t.Context(), lifecycle.Ref{Tenant: vaultTenant, Task: id})
		if err != nil {
			s.t.Fatal(err)
		}
		s.absent("the rejections", fmt.Appendf(nil, "%+v", kept), "")
	}
	s.lights(tasks[0])
	return all.String()
}

// lights asks for the lights until they name a task: the one whose webhook fails.
func (s *scene) lights(id a2a.TaskID) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for answer := ""; !strings.Contains(answer, string(id)); {
		select {
		case <-tick.C:
			_, answer = s.ask(http.MethodGet, "/health", "")
		case <-time.NewTimer(patience).C:
			s.t.Fatal("the lights do not name the task whose webhook fails")
		}
	}
}

// searches looks through what is left: what was said and logged, every file, and every
// row. A callback token is on its own row, from where the answer takes it, and nowhere
// else.
func (s *scene) searches() {
	s.t.Helper()
	s.absent("an answer or a stream", []byte(s.said.String()), "")
	s.absent("the log", []byte(s.logs.String()), "")
	if !strings.Contains(s.said.String(), "May I?") || !strings.Contains(s.logs.String(), "refused a caller") {
		s.t.Error("nothing was said, or nothing was logged: this test searches the wrong place")
	}
	for _, content := range []string{"May I?", "a large answer", "open the vault"} {
		if strings.Contains(s.logs.String(), content) {
			s.t.Errorf("the log has what a task says: %q", content)
		}
	}
	var files []string
	large := false // the text that came with a receipt
	err := filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		but := ""
		if bytes.HasPrefix(content, []byte("SQLite format 3")) {
			but = callbackToken
			s.rows(path)
		}
		s.absent(path, content, but)
		large = large || bytes.Contains(content, []byte("a large answer"))
		files = append(files, filepath.Base(path))
		return err
	})
	if err != nil || !large || !slices.Contains(files, "connections.ndjson") || !slices.Contains(files, "metrics.ndjson") {
		s.t.Errorf("searched %v, %v", files, err)
	}
}

// rows searches a database table by table.
func (s *scene) rows(path string) {
	s.t.Helper()
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tables := map[string]string{}
	read := func(query string, each func(*sqlite3.Stmt)) {
		stmt, _, err := db.Prepare(query)
		if err != nil {
			s.t.Fatal(err)
		}
		for stmt.Step() {
			each(stmt)
		}
		if err := stmt.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	read("SELECT name FROM sqlite_schema WHERE type = 'table'", func(row *sqlite3.Stmt) { tables[row.ColumnText(0)] = "" })
	for table := range tables {
		var all strings.Builder
		read("SELECT * FROM "+table, func(row *sqlite3.Stmt) { //nolint:unqueryvet // whatever columns there are, each is searched
			for i := range row.ColumnCount() {
				all.Write(row.ColumnRawText(i))
				all.WriteByte('\n')
			}
		})
		tables[table] = all.String()
		but := ""
		if table == "parked" {
			but = callbackToken
		}
		s.absent("table "+table, []byte(all.String()), but)
	}
	if !strings.Contains(tables["parked"], "planted") || !strings.Contains(tables["entries"], "receipt-1") {
		s.t.Errorf("among the tables %v none has the tokens, or none the receipts: this test searches the wrong place", slices.Collect(maps.Keys(tables)))
	}
}
