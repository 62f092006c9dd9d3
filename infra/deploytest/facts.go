package main

import "fmt"

// seen is what the run has shown.
type seen struct {
	resources int
	entries   int
	review    string
	revoked   int
	expired   bool
	streamed  int
	delivered int // updates that a webhook took
}

func (s seen) summary() string {
	return fmt.Sprintf("%d resources of the root stack, a ledger of %d entries, %d revocations each applied once, a deadline kept: %v, %d entries through the stream, %d updates to a webhook that failed at first",
		s.resources, s.entries, s.revoked, s.expired, s.streamed, s.delivered)
}
