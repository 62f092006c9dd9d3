package journeys_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// keeper deletes an archive and its backups, each once that was authorized.
func keeper(deleted func(what string)) *agent.Agent {
	act := func(ctx context.Context, t *agent.Task[note], what string) error {
		_, err := agent.Effect(ctx, t, what, func(context.Context, string) (string, error) {
			deleted(what)
			return "gone", nil
		})
		return err
	}
	return agent.New("keeper", 1,
		agent.Step[note]{Name: "ask", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
			return agent.Authorize("delete the archive", "May I delete the archive?", "archive", agent.By("owners"), agent.For(time.Hour)), nil
		}},
		agent.Step[note]{Name: "archive", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			return agent.Authorize("delete the backups", "And its backups?", "backups", agent.For(time.Hour)), act(ctx, t, "archive")
		}},
		agent.Step[note]{Name: "backups", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			return agent.Complete("All gone."), act(ctx, t, "backups")
		}},
	).KeyedByMessageID()
}

// approvals is an issuer of receipts, written without the library that verifies them.
type approvals struct{ key ed25519.PrivateKey }

// trusting lets a world take the receipts of a new issuer.
func (w *world) trusting() approvals {
	w.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	keys := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k-1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	if w.receipts, err = receipt.New([]receipt.Issuer{{Name: "approvals", Audience: "here", Keys: []byte(keys)}}, nil, time.Now); err != nil {
		w.t.Fatal(err)
	}
	return approvals{private}
}

// give signs a receipt for what a task asks for, as its metadata shows it.
func (a approvals) give(t a2a.Task, jti string) string {
	challenge, _ := ownOf(&t)["challenge"].(map[string]any)
	now := time.Now().Unix()
	claims := map[string]any{
		"iss": "approvals", "aud": []any{"here", challenge["audience"]}, "iat": now, "exp": now + 60, "jti": jti,
		lifecycle.ExtensionURI: map[string]any{"tenant": node.Tenant, "task": t.ID, "challenge": challenge["number"], "action": challenge["action"]},
	}
	if challenge["audience"] == nil {
		claims["aud"] = "here"
	}
	payload, _ := json.Marshal(claims)
	e := base64.RawURLEncoding.EncodeToString
	content := e([]byte(`{"alg":"EdDSA","kid":"k-1","typ":"holdfast-receipt+jwt"}`)) + "." + e(payload)
	return content + "." + e(ed25519.Sign(a.key, []byte(content)))
}

func (w *world) authorize(id a2a.TaskID, text string, into any) int {
	w.t.Helper()
	status, err := w.call(http.MethodPost, "/tasks/"+string(id)+"/authorizations", fmt.Sprintf(`{"receipt":%q}`, text), into)
	if err != nil {
		w.t.Fatal(err)
	}
	return status
}

// A task that waits for authorization goes on with a receipt for what it asks for, and
// with nothing else: not with a message, a forgery, or the receipt before; and nothing
// is done before (I12; case 24). The stream stays open all the while (A2A §7.6.1).
func TestAuthorization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deleted []string
		w := newWorld(t, keeper(func(what string) { deleted = append(deleted, what) }))
		owners := w.trusting()
		_, strange, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		stranger := approvals{strange}
		n := w.process()
		defer w.stop(n)
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: w.submitOnly("archive")}
		w.waitState(ref, a2a.TaskStateAuthRequired)
		s := w.subscribe(ref.Task, 0)
		asked := w.task("", ref.Task)
		if f := w.first(s); f.state() != a2a.TaskStateAuthRequired || agent.Text(asked.Status.Message) != "May I delete the archive?" {
			t.Errorf("the stream begins with %s", f.content())
		}
		w.must(http.MethodPost, "/message:send", reply("m-2", "Yes, do it!", ref.Task), nil)
		if status := w.authorize(ref.Task, stranger.give(asked, "j-1"), nil); status != http.StatusBadRequest {
			t.Errorf("a forgery: %d", status)
		}
		<-time.NewTimer(9 * time.Minute).C
		if got := w.task("", ref.Task); got.Status.State != a2a.TaskStateAuthRequired || len(deleted) != 0 {
			t.Fatalf("without a receipt: %s, deleted %v", got.Status.State, deleted)
		}

		first := owners.give(asked, "j-1")
		if status := w.authorize(ref.Task, first, nil); status != http.StatusOK {
			t.Fatalf("a good receipt: %d", status)
		}
		for _, want := range []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateAuthRequired} {
			if f := w.first(s); f.state() != want {
				t.Errorf("on the stream: %s, want %s", f.content(), want)
			}
		}
		var again a2a.Task
		if status := w.authorize(ref.Task, first, &again); status != http.StatusOK || again.Status.State != a2a.TaskStateAuthRequired {
			t.Errorf("the same receipt again: %d, %s", status, again.Status.State)
		}
		<-time.NewTimer(time.Minute).C
		if !slices.Equal(deleted, []string{"archive"}) {
			t.Fatalf("deleted %v", deleted)
		}

		second := owners.give(w.task("", ref.Task), "j-2")
		in := fmt.Sprintf(`,"taskId":%q,"metadata":{%q:{"authorization":%q}}`, ref.Task, lifecycle.ExtensionURI, second)
		w.must(http.MethodPost, "/message:send", send("m-3", "The backups too.", in), nil)
		rest := w.all(s)
		if len(rest) == 0 || rest[len(rest)-1].state() != a2a.TaskStateCompleted || !slices.Equal(deleted, []string{"archive", "backups"}) {
			t.Errorf("the stream ends with %d frames, deleted %v", len(rest), deleted)
		}
		if status := w.authorize(ref.Task, owners.give(asked, "j-3"), nil); status != http.StatusBadRequest {
			t.Errorf("a receipt for a task that has ended: %d", status)
		}
		w.verify(ref.Task)
	})
}

// A challenge outlives the process that opened it; a receipt that comes when another
// one serves the ledger goes on with the task.
func TestAuthorizationAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deleted []string
		w := newWorld(t, keeper(func(what string) { deleted = append(deleted, what) }))
		owners := w.trusting()
		n := w.process()
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: w.submitOnly("archive")}
		for i, jti := range []string{"j-1", "j-2"} {
			w.until("", ref.Task, time.Minute, func(got a2a.Task) bool {
				challenge, _ := ownOf(&got)["challenge"].(map[string]any)
				return challenge["number"] == float64(i+1)
			})
			w.stop(n)
			n = w.process()
			if status := w.authorize(ref.Task, owners.give(w.task("", ref.Task), jti), nil); status != http.StatusOK {
				t.Fatalf("receipt %s: %d", jti, status)
			}
		}
		w.until("", ref.Task, time.Minute, in(a2a.TaskStateCompleted))
		if !slices.Equal(deleted, []string{"archive", "backups"}) {
			t.Errorf("deleted %v", deleted)
		}
		w.verify(ref.Task)
		w.stop(n)
	})
}
