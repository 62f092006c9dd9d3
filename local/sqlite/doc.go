// Package sqlite is the embedded ledger: one SQLite file and a folder of blobs,
// for one process. [Open] gives a ledger.Ledger, [OpenBlobs] a ledger.Blobs;
// both pass the suite in shared/ledger/ledgertest.
//
// # What is on disk
//
//	<dir>/holdfast.db      the ledger, with holdfast.db-wal and -shm while open
//	<dir>/lock             who has the folder (see below)
//	<dir>/blobs/…          large bytes, one file each (see Blobs)
//
// # Writing
//
// One goroutine writes. It takes what is queued, up to maxBatch operations, runs
// each against its own guard, and commits them together: one sync of the disk
// for all of them. An operation that is refused leaves no trace and does not
// disturb the others. Nobody gets an answer, not even a refusal, before the
// transaction is on disk (I4): what a refusal shows is committed as well. A
// write whose context ends while it waits may still happen, as may one that was
// answered with ledger.ErrUnavailable; both are what operation IDs are for.
//
// # Reading
//
// Heads come from a bounded memory that the writer fills after each commit, and
// from the file when they are not there. Everything else is read through a few
// read-only connections. A read sees every write that was answered before it
// began.
//
// # The feed
//
// Entries are stored in the order in which they were committed, and their place
// in it (the rowid) is the feed's position. Positions are given by the writer
// and never repeat: when the last entries are purged, a trigger remembers how
// far the positions had come.
//
// # The driver
//
// github.com/ncruces/go-sqlite3 is SQLite translated to Go: no C compiler, and
// prepared statements without database/sql in between. Against the two drivers
// over modernc.org/sqlite it spends about a third less processor time and half
// the memory for the same commits. What decided is the version of SQLite:
// zombiezen.com/go/sqlite v1.4.2 carries 3.49.2, which has the bug that is fixed
// in 3.51.3, where a log that is reset while two connections are at work can
// damage the file (sqlite.org/wal.html).
//
// # One process
//
// Open takes a lock on the folder that the operating system gives back when the
// process dies, however it dies. A second process gets an error that matches
// [ErrLocked]; whoever holds the lock knows that the last process is gone.
//
// # Refusals
//
// A file that is damaged ([ErrCorrupt]) or that a newer build has written
// ([ErrNewer]) is refused before SQLite opens it: what is in the file and its
// write-ahead log is judged from the outside, and not a byte of it changes. An
// older file is migrated in one transaction.
package sqlite
