// Package receipt verifies authorization receipts: what an issuer gives out when an
// action of a task was approved, and what alone lets the task leave auth-required
// (I12). It stores nothing. Of a receipt that holds, issuer, key ID, jti and digest are
// kept by the ledger; of one that does not, nothing is, and no error quotes it (I9).
//
// A receipt is a JSON Web Token in compact form (RFC 7519, RFC 7515), signed with a
// public key of a configured issuer, of at most 8 KiB. Its header has
//
//	alg  ES256, EdDSA or RS256
//	kid  the key
//	typ  holdfast-receipt+jwt, so that no other token of the issuer is one (RFC 8725, 3.11)
//
// and its claims are
//
//	iss  the issuer, as it is configured
//	aud  this deployment's audience, as it is configured for the issuer, and the
//	     challenge's audience if it has one: a text, or a list with both
//	iat  when it was issued: not before the challenge was opened, and at most 10 minutes ago
//	exp  when it ends; needed
//	nbf  when it begins; may be absent
//	jti  its number, 1 to 128 printable bytes, which the issuer gives once
//
// and under the extension's URI, urn:holdfast:a2a:durable-task:v1, an object with what
// it is bound to, all of which is needed:
//
//	tenant     whose task it is
//	task       the task's ID
//	challenge  the challenge's number, as the task's metadata shows it
//	action     the action, as the task's metadata shows it
//
// Clocks may differ by a minute. Other claims are allowed and not looked at; a claim
// that is there twice makes the receipt malformed.
//
// That a receipt works once is the ledger's: it closes the challenge that it names, a
// number that no later challenge has, and its jti is remembered with the task.
package receipt
