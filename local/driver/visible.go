package driver

// Visible are the sequences of the entries that callers see, of entries that are added
// in order: messages, pieces of artifacts and changes of the state. A checkpoint is
// nobody's business.
type Visible struct {
	Seqs  []uint64
	state string
}

// Add looks at the next entry: its type, the state that it leads to, if it does, and
// whether it carries a message.
func (v *Visible) Add(seq uint64, kind, state string, message bool) {
	moved := state != "" && state != v.state
	if moved {
		v.state = state
	}
	switch {
	case kind == "message": // kept while authorization is awaited: it joins the history, and is no update
	case kind == "submitted", kind == "reply", kind == "chunk", message, moved:
		v.Seqs = append(v.Seqs, seq)
	}
}
