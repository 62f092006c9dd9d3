package lifecycle

// ChainAfter is the chain digest that the entry must carry behind one that carries
// previous; empty for a task's first entry. Whoever checks a history without
// trusting it begins with this.
func (e Entry) ChainAfter(previous Digest) Digest { return e.chainAfter(previous) }
