package systems

import "time"

const (
	maxBodyBytes   = 64 << 10         // a full list of rules takes a sixth of it
	maxRules       = 100              // far above what one drill needs
	maxHeld        = 100              // each one keeps a connection and a goroutine
	maxDelay       = 10 * time.Minute // longer than any caller's timeout
	maxNameBytes   = 128              // systems, accounts and roles
	maxKeyBytes    = 256              // an Idempotency-Key
	maxRevocations = 100_000          // remembered keys, about 50 MB
)
