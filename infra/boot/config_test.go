package boot

import (
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	planted = "planted-secret-0123456789abcdefghijklmnopqrstuvwxyz"
	hash    = "6f7c3a5c2fb63b22a8f5e2f6f3f1a9d9a0b1c2d3e4f5061728394a5b6c7d8e9f"
)

func now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// process of an environment; AWS's own variables are this test's.
func processOf(t *testing.T, environ ...string) process {
	t.Helper()
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", planted)
	return process{variables: newVariables(environ), logger: slog.New(slog.DiscardHandler), now: now}
}

// complete is an environment with nothing wrong.
var complete = []string{
	"HOLDFAST_TASKS_TABLE=tasks", "HOLDFAST_PRIVATE_TABLE=private", "HOLDFAST_BLOBS_BUCKET=blobs",
	"HOLDFAST_STATE_MACHINE=arn:aws:states:eu-west-1:123456789012:stateMachine:task:live",
	"HOLDFAST_DELIVERY_MACHINE=arn:aws:states:eu-west-1:123456789012:stateMachine:delivery:live",
	"HOLDFAST_AUTH=keys", `HOLDFAST_API_KEYS=[{"tenant":"acme","name":"ci","sha256":"` + hash + `"}]`,
}

func TestComplete(t *testing.T) {
	for _, more := range [][]string{
		nil,
		{`HOLDFAST_RECEIPT_ISSUERS=[{"issuer":"https://approvals.example.com","jwksUrl":"https://approvals.example.com/keys","audience":"https://agents.example.com"}]`},
		{"HOLDFAST_STREAMING=false", "HOLDFAST_PUBLIC_URL=https://agents.example.com/", "HOLDFAST_SYSTEMS_URL=http://127.0.0.1:8090", "HOLDFAST_SWEEP_MOST="},
		{"HOLDFAST_AUTH=oidc,keys", "HOLDFAST_OIDC_ISSUER=https://issuer.example.com", "HOLDFAST_OIDC_AUDIENCE=a,b", "HOLDFAST_OIDC_TENANT_CLAIM=org", "HOLDFAST_OIDC_GRANT=caller,producer"},
	} {
		p := processOf(t, append(append([]string(nil), complete...), more...)...)
		_, err1 := p.api()
		_, err2 := p.step()
		_, err3 := p.settle()
		_, err4 := p.sweep()
		_, err5 := p.stream()
		_, err6 := p.deliver()
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			t.Errorf("with %q: %v", more, err)
		}
	}
}

// TestEveryProblemAtOnce: what is wrong, and nothing of what may be secret.
func TestEveryProblemAtOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		environ []string
		want    []string // beginnings of the lines
	}{
		{"nothing is set", nil, []string{
			"HOLDFAST_TASKS_TABLE is not set", "HOLDFAST_PRIVATE_TABLE is not set", "HOLDFAST_BLOBS_BUCKET is not set",
			"HOLDFAST_STATE_MACHINE is not set", "HOLDFAST_DELIVERY_MACHINE is not set", "HOLDFAST_AUTH is not set",
		}},
		{"everything is wrong", []string{
			"HOLDFAST_TASK_TABLE=x", "HOLDFAST_TASKS_TABLE=t", "HOLDFAST_PRIVATE_TABLE=p", "HOLDFAST_BLOBS_BUCKET=b", "HOLDFAST_STATE_MACHINE=task", "HOLDFAST_DELIVERY_MACHINE=arn:delivery",
			"HOLDFAST_LEASE=10s", "HOLDFAST_RENEWAL=6s", "HOLDFAST_GRACE=soon", "HOLDFAST_RESERVE=-1s", "HOLDFAST_PUBLIC_URL=https://user:" + planted + "@x",
			"HOLDFAST_STREAMING=yes", "HOLDFAST_KEEP_ALIVE=0s", "HOLDFAST_SYSTEMS_URL=ftp://x", "HOLDFAST_AUTH=oidc,keys,none,password",
			"HOLDFAST_API_KEYS=" + planted, "HOLDFAST_OIDC_ISSUER=http://issuer.example.com", "HOLDFAST_OIDC_GRANT=root", "HOLDFAST_SWEEP_MOST=0",
			`HOLDFAST_RECEIPT_ISSUERS=[{"issuer":"a","jwksUrl":"http://a/` + planted + `"}]`,
		}, []string{
			"HOLDFAST_TASK_TABLE is not known", "HOLDFAST_STATE_MACHINE is no ARN", "HOLDFAST_GRACE is", "HOLDFAST_RENEWAL is 6s",
			"HOLDFAST_PUBLIC_URL is no address", "HOLDFAST_STREAMING is", "HOLDFAST_KEEP_ALIVE is", "HOLDFAST_RESERVE is", "HOLDFAST_DELIVERY_MACHINE is no ARN",
			"HOLDFAST_OIDC_GRANT has an unknown scope", "HOLDFAST_OIDC_ISSUER must be", "HOLDFAST_OIDC_AUDIENCE needs one", "HOLDFAST_OIDC_TENANT_CLAIM or HOLDFAST_OIDC_TENANT is needed",
			"HOLDFAST_API_KEYS cannot be used", "HOLDFAST_AUTH is none", "HOLDFAST_AUTH names no way", "HOLDFAST_RECEIPT_ISSUERS cannot be used", "issuer 1: the address", "HOLDFAST_SYSTEMS_URL is no address",
		}},
		{"issuers of receipts that are no list", append([]string{"HOLDFAST_RECEIPT_ISSUERS=" + planted}, complete...), []string{"HOLDFAST_RECEIPT_ISSUERS is no JSON array"}},
		{"settings of what is not used", append([]string{"HOLDFAST_OIDC_TENANT=acme"}, complete...), []string{"HOLDFAST_OIDC_TENANT is set, but"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := processOf(t, c.environ...).api()
			if err == nil {
				t.Fatal("no problem was found")
			}
			if strings.Contains(err.Error(), planted) {
				t.Errorf("the error shows a credential: %v", err)
			}
			lines := strings.Split(err.Error(), "\n")[1:]
			for i := range max(len(lines), len(c.want)) {
				if i >= len(lines) || i >= len(c.want) || !strings.HasPrefix(lines[i], c.want[i]) {
					t.Fatalf("problem %d of %d, want %d:\n%v", i+1, len(lines), len(c.want), err)
				}
			}
		})
	}
}

func TestNoAWS(t *testing.T) {
	p := processOf(t, complete...)
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	_, err := p.step()
	if err == nil || !strings.Contains(err.Error(), "AWS_REGION is not set") || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set") {
		t.Errorf("got %v", err)
	}
}

// TestEndpoints: the SDK's variables lead every client to an emulator.
func TestEndpoints(t *testing.T) {
	processOf(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
	v := newVariables(nil)
	if c := readAWS(v); v.err() != nil || c.BaseEndpoint == nil || *c.BaseEndpoint != "http://127.0.0.1:4566" || c.Region != "eu-west-1" {
		t.Errorf("got %v, %v, %v", c.BaseEndpoint, c.Region, v.err())
	}
}

func TestEveryVariableIsDocumented(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	if !reflect.DeepEqual(seen, documented(t)) {
		t.Errorf("doc.go and variables.go differ: %v, %v", documented(t), seen)
	}
}
