package lifecycle

// Canonicalize is canonicalize.
func Canonicalize(raw []byte) ([]byte, error) { return canonicalize(raw) }

// Rechain makes an entry consistent with itself and with the task before it, as
// a forger or a broken build would: what is left to refuse it is its meaning.
func Rechain(t Task, e Entry) Entry {
	e.PayloadDigest = DigestBytes(e.Payload)
	e.Chain = e.ChainAfter(t.Chain)
	return e
}
