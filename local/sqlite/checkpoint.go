package sqlite

import (
	"github.com/ncruces/go-sqlite3"
)

// checkpointPages is how long the log may get before it is moved into the file:
// about 32 MiB. A page that many commits change is moved once, so a longer log is
// less work and fewer pauses; a shorter one is less to read after a crash, and
// shorter pauses. The writer pauses meanwhile, for some 10 to 20 ms.
const checkpointPages = 8_000

// logKeeper bounds the write-ahead log.
type logKeeper struct {
	pages int
	count *counters
}

func keepLog(conn *sqlite3.Conn, count *counters) *logKeeper {
	k := &logKeeper{count: count}
	conn.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		k.pages = pages
		return nil
	})
	return k
}

// keep moves the log into the file when it is long. A fault is not the commits'
// concern, which are safe in the log: the next one tries again.
func (k *logKeeper) keep(conn *sqlite3.Conn) {
	if k.pages < checkpointPages {
		return
	}
	if _, _, err := conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err == nil {
		k.count.checkpoints.Add(1)
	}
	k.pages = 0
}
