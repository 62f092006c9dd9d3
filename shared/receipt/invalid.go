package receipt

import "github.com/holdfast-a2a/holdfast/shared/lifecycle"

// Reason says what is wrong with a receipt.
type Reason string

// Reasons.
const (
	Missing        Reason = "missing"
	TooLarge       Reason = "too-large"
	Malformed      Reason = "malformed" // or signed with an algorithm that is not taken
	WrongType      Reason = "wrong-type"
	Incomplete     Reason = "incomplete"
	UnknownIssuer  Reason = "unknown-issuer"
	UnknownKey     Reason = "unknown-key"
	WrongSignature Reason = "wrong-signature"
	WrongAudience  Reason = "wrong-audience"
	WrongTenant    Reason = "wrong-tenant"
	WrongTask      Reason = "wrong-task"
	WrongChallenge Reason = "wrong-challenge"
	WrongAction    Reason = "wrong-action"
	Stale          Reason = "stale" // too old, or older than the challenge
	Expired        Reason = "expired"
	NotYetValid    Reason = "not-yet-valid"
)

// advice is what to do about each reason. It is for whoever brought the receipt and
// for what is kept of its refusal, and holds nothing of the receipt.
var advice = map[Reason]string{
	Missing:        "there is no receipt: send the compact JWS that the issuer gave out",
	TooLarge:       "the receipt is larger than 8 KiB: leave out claims that are not needed",
	Malformed:      "the receipt is no compact JWS with JSON claims, each of them once, signed with ES256, EdDSA or RS256",
	WrongType:      "the receipt's header must have typ holdfast-receipt+jwt, so that no other token is taken for one",
	Incomplete:     "the receipt lacks something: its header needs kid, its claims iss, aud, iat, exp, jti (1 to 128 printable bytes) and, under the extension's URI, tenant, task, challenge and action",
	UnknownIssuer:  "the receipt's iss is no issuer that is trusted here: the agent card lists them",
	UnknownKey:     "the receipt's kid is no signing key of its issuer: publish the key in the issuer's key set first",
	WrongSignature: "the receipt's signature does not hold for its content and the key that it names",
	WrongAudience:  "the receipt's aud must name this deployment, as the agent card lists it for the issuer, and the challenge's audience if it has one",
	WrongTenant:    "the receipt is for a task of another tenant",
	WrongTask:      "the receipt is for another task",
	WrongChallenge: "the receipt is not for the open challenge: get one for the number that the task's metadata shows",
	WrongAction:    "the receipt is for another action: get one for the action that the task's metadata shows",
	Stale:          "the receipt is not fresh: it must be issued after the challenge was opened and be at most 10 minutes old; get a new one",
	Expired:        "the receipt has expired: get a new one",
	NotYetValid:    "the receipt is not valid yet: compare the clocks, or wait for its nbf",
}

// Invalid is a receipt that does not hold. Nothing of the receipt is in it.
type Invalid struct{ Reason Reason }

// Error implements error.
func (i *Invalid) Error() string { return string(i.Reason) + ": " + advice[i.Reason] }

// Unwrap is the rejection under which it is kept.
func (i *Invalid) Unwrap() error {
	reason := lifecycle.ReceiptInvalid
	if i.Reason == Missing {
		reason = lifecycle.ReceiptRequired
	}
	return &lifecycle.Rejection{Reason: reason, Detail: advice[i.Reason]}
}

func invalid(r Reason) error { return &Invalid{r} }
