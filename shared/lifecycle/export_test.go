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

// Seen folds all entries of a task into its A2A view.
func Seen(ref Ref, entries []Entry, blobURL func(Digest) string) (*View, error) {
	v := NewView(ref, blobURL)
	for _, e := range entries {
		if _, err := v.Add(e); err != nil {
			return nil, err
		}
	}
	return v, nil
}
