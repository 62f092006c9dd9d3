package receiver

import "time"

const (
	// Tolerance is how far a request's timestamp may be from our clock.
	Tolerance = 5 * time.Minute
	// maxBodyBytes bounds a body; updates have some 100 KB at most.
	maxBodyBytes = 1 << 20
	// maxIDBytes bounds a webhook-id.
	maxIDBytes = 256
	// maxSignatures is how many signatures of a request are looked at.
	maxSignatures = 8
	// maxKeys is how many published keys are used.
	maxKeys = 8
	// maxKeysBytes bounds the answer with the keys.
	maxKeysBytes = 64 << 10
	// keysFor is how long fetched keys are used: a key that was withdrawn is believed no
	// longer than that.
	keysFor = time.Hour
	// fetchEvery is how soon keys are fetched again for a signature that fits none:
	// strangers who send nonsense must not make us call.
	fetchEvery = 10 * time.Second
	// fetchAgain is how soon they are fetched again after that has failed.
	fetchAgain = time.Second
	// fetchTime bounds a fetch.
	fetchTime = 5 * time.Second
)
