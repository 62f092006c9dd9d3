package boot

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// prefix is what our variables begin with.
const prefix = "HOLDFAST_"

// variables reads the environment and gathers every problem. No value of a variable
// that may hold a credential is ever part of one.
type variables struct {
	values   map[string]string
	problems []error
}

// newVariables takes an environment as os.Environ gives it. Empty is the same as
// not set: CloudFormation cannot leave a variable out.
func newVariables(environ []string) *variables {
	v := &variables{values: map[string]string{}}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" {
			v.values[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.values)) {
		if rest, ours := strings.CutPrefix(name, prefix); ours && !slices.Contains(names, rest) {
			v.wrong(rest, "is not known: correct its name or remove it")
		}
	}
	return v
}

// names are the variables that there are, without prefix.
var names = []string{
	tasksTable, privateTable, blobsBucket, stateMachine, deliveryMachine, systemsURL, publicURL, streaming,
	authWays, oidcIssuer, oidcAudience, oidcJWKS, oidcTenantClaim, oidcTenant, oidcScopePrefix, oidcGrant, apiKeys,
	lease, renewal, grace, reserve, waitBudget, keepAlive, streamLimit, sweepMost, webhookNetworks, receiptIssuers, deployment, healthLate, healthWindow, kmsKey,
}

const (
	tasksTable      = "TASKS_TABLE"
	privateTable    = "PRIVATE_TABLE"
	blobsBucket     = "BLOBS_BUCKET"
	stateMachine    = "STATE_MACHINE"
	deliveryMachine = "DELIVERY_MACHINE"
	systemsURL      = "SYSTEMS_URL"
	publicURL       = "PUBLIC_URL"
	streaming       = "STREAMING"
	authWays        = "AUTH"
	oidcIssuer      = "OIDC_ISSUER"
	oidcAudience    = "OIDC_AUDIENCE"
	oidcJWKS        = "OIDC_JWKS_URL"
	oidcTenantClaim = "OIDC_TENANT_CLAIM"
	oidcTenant      = "OIDC_TENANT"
	oidcScopePrefix = "OIDC_SCOPE_PREFIX"
	oidcGrant       = "OIDC_GRANT"
	apiKeys         = "API_KEYS"
	lease           = "LEASE"
	renewal         = "RENEWAL"
	grace           = "GRACE"
	reserve         = "RESERVE"
	waitBudget      = "WAIT_BUDGET"
	keepAlive       = "KEEP_ALIVE"
	streamLimit     = "STREAM_LIMIT"
	sweepMost       = "SWEEP_MOST"
	webhookNetworks = "WEBHOOK_NETWORKS"
	receiptIssuers  = "RECEIPT_ISSUERS"
	deployment      = "DEPLOYMENT"
	kmsKey          = "KMS_KEY"
	healthLate      = "HEALTH_LATE"
	healthWindow    = "HEALTH_WINDOW"
)

// wrong records a problem of a variable.
func (v *variables) wrong(name, format string, args ...any) {
	v.problems = append(v.problems, fmt.Errorf("%s%s "+format, append([]any{prefix, name}, args...)...))
}

// err is every problem at once, nil for none.
func (v *variables) err() error {
	if len(v.problems) == 0 {
		return nil
	}
	return fmt.Errorf("the configuration has %d problems:\n%w", len(v.problems), errors.Join(v.problems...))
}

// text reads a variable that may be absent.
func (v *variables) text(name string) string { return v.values[prefix+name] }

// needed reads one that must be there.
func (v *variables) needed(name, meaning string) string {
	value := v.text(name)
	if value == "" {
		v.wrong(name, "is not set: give it %s", meaning)
	}
	return value
}

// machine reads the ARN of a state machine.
func (v *variables) machine(name, meaning string) string {
	arn := v.needed(name, meaning)
	if arn != "" && (!strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":stateMachine:")) {
		v.wrong(name, "is no ARN of a state machine: give it one such as arn:aws:states:eu-west-1:123456789012:stateMachine:task:live")
	}
	return arn
}

// span reads a duration from least on.
func (v *variables) span(name string, otherwise, least time.Duration) time.Duration {
	text := v.text(name)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		v.wrong(name, "is %q: give it a duration from %s on, such as %s", text, least, otherwise)
		return otherwise
	}
	return d
}

// count reads a number from 1 on.
func (v *variables) count(name string, otherwise int) int {
	text := v.text(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		v.wrong(name, "is %q: give it a number from 1 on, such as %d", text, otherwise)
		return otherwise
	}
	return n
}

// flag reads true or false.
func (v *variables) flag(name string, otherwise bool) bool {
	switch text := v.text(name); text {
	case "":
		return otherwise
	case "true", "false":
		return text == "true"
	default:
		v.wrong(name, "is %q: give it true or false", text)
		return otherwise
	}
}

// address reads an http or https address that paths can be added to.
func (v *variables) address(name string) string {
	text := strings.TrimSuffix(v.text(name), "/")
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		v.wrong(name, "is no address: give it one such as https://agents.example.com, without query, fragment or password")
		return ""
	}
	return text
}
