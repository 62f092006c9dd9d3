package sqlite

import "fmt"

// Defaults and bounds, each with its reason.
const (
	// maxBatch bounds the operations of one transaction, and with it the memory of
	// a batch and the time that its first operation waits for the last one.
	maxBatch = 256
	// defaultHeads is how many heads are kept in memory: about 1 KB each.
	defaultHeads = 16_384
	// readers is how many reads run side by side. Reads are short and mostly come
	// from memory; more connections would only share the same processors.
	readers = 4
	// busyMillis is how long SQLite waits for a lock of another connection. Ours
	// never meet, but an operator may have the file open in a shell.
	busyMillis = 5_000
	// writerCacheKiB and readerCacheKiB bound SQLite's page caches. What is written next
	// is mostly what was written last, and a commit that moved a page while it balanced a
	// tree walks through the whole cache.
	writerCacheKiB = 4 << 10
	readerCacheKiB = 4 << 10
)

// Options are the choices of Open. The zero value is right for production.
type Options struct {
	// NoSync lets the operating system decide when bytes reach the disk. A crash of
	// the process loses nothing, a crash of the machine may lose answered commits
	// or the file. It exists for the suites that crash the product thousands of
	// times in one process; nothing else may set it.
	NoSync bool
	// Heads is how many heads are kept in memory; 0 for the default.
	Heads int

	// migrations replaces the list of migrations in tests.
	migrations []migration
	// fault is called at the writer's named points in tests; an error stands for one
	// of the disk.
	fault func(point) error
}

// point names a place where a test can make the writer fail or die.
type point string

const (
	pointBegin     point = "begin"     // before a transaction
	pointCommit    point = "commit"    // all is written, nothing is committed
	pointVisible   point = "visible"   // readers of the file see it, readers of the memory do not
	pointCommitted point = "committed" // on disk, nobody has been told
)

func (o Options) withDefaults() (Options, error) {
	if o.Heads < 0 {
		return o, fmt.Errorf("option Heads is %d: it cannot be negative", o.Heads)
	}
	if o.Heads == 0 {
		o.Heads = defaultHeads
	}
	if o.migrations == nil {
		o.migrations = migrations()
	}
	if o.fault == nil {
		o.fault = func(point) error { return nil }
	}
	return o, nil
}

func (o Options) synchronous() string {
	if o.NoSync {
		return "OFF"
	}
	return "FULL"
}
