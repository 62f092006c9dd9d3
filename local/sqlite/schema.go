package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// migration brings a file from the version before it to its own, in SQL. The
// first one makes the file.
type migration string

// migrations is the whole history of the schema: the file's version is how many
// of them it has seen. A migration that was released is never edited.
func migrations() []migration {
	return []migration{schema1, schema2, schema3, schema4, schema5, schema6, schema7}
}

const schema1 migration = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('version', 0), ('position', 0);

-- A head is rewritten by every commit. What follows it is indexed and written
-- only when it changes; the counters are no commit's business at all. Instants
-- are nanoseconds since 1970.
CREATE TABLE tasks (
	row        INTEGER PRIMARY KEY,
	tenant     TEXT NOT NULL,
	task       TEXT NOT NULL,
	agent      TEXT NOT NULL,
	context    TEXT NOT NULL,
	state      TEXT NOT NULL,
	status_at  INTEGER NOT NULL,
	expires_at INTEGER, -- NULL: does not expire
	due_at     INTEGER, -- NULL: nobody must look
	rejections INTEGER NOT NULL DEFAULT 0,
	incidents  INTEGER NOT NULL DEFAULT 0,
	hits       INTEGER NOT NULL DEFAULT 0,
	head       BLOB NOT NULL
);
CREATE UNIQUE INDEX tasks_name ON tasks (tenant, task);
-- Everything that List and Count filter on is in the index: counting a tenant's
-- tasks reads no head. Newest first is the same index read backwards, which
-- lets new rows go to its end.
CREATE INDEX tasks_status ON tasks (tenant, status_at, task, state, agent, context, expires_at);
CREATE INDEX tasks_context ON tasks (tenant, context, status_at, task);
CREATE INDEX tasks_due ON tasks (due_at, tenant, task) WHERE due_at IS NOT NULL;

-- The ledger. The position is the order of commits over all tasks.
CREATE TABLE entries (
	position INTEGER PRIMARY KEY,
	task     INTEGER NOT NULL, -- tasks.row
	seq      INTEGER NOT NULL,
	envelope BLOB NOT NULL,    -- JSON of the entry, without what follows
	payload  BLOB NOT NULL     -- as it came: its digest is taken over these bytes
);
CREATE UNIQUE INDEX entries_seq ON entries (task, seq);
-- A position is never given twice, also when the last entries were purged.
CREATE TRIGGER entries_purged AFTER DELETE ON entries BEGIN
	UPDATE meta SET value = max(value, OLD.position) WHERE name = 'position';
END;

CREATE TABLE artifacts (
	task   INTEGER NOT NULL,
	id     TEXT NOT NULL,
	record BLOB NOT NULL,
	PRIMARY KEY (task, id)
) WITHOUT ROWID;

CREATE TABLE chunks (
	task     INTEGER NOT NULL,
	artifact TEXT NOT NULL,
	revision INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	checksum TEXT NOT NULL,
	seq      INTEGER NOT NULL,
	PRIMARY KEY (task, artifact, revision, number)
) WITHOUT ROWID;

CREATE TABLE receipts (
	task     INTEGER NOT NULL,
	producer TEXT NOT NULL,
	event    TEXT NOT NULL,
	digest   TEXT NOT NULL,
	seq      INTEGER NOT NULL,
	hits     INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (task, producer, event)
) WITHOUT ROWID;

CREATE TABLE rejections (
	task   INTEGER NOT NULL,
	number INTEGER NOT NULL,
	record BLOB NOT NULL,
	PRIMARY KEY (task, number)
) WITHOUT ROWID;

CREATE TABLE effects (
	task     INTEGER NOT NULL,
	visit    INTEGER NOT NULL,
	name     TEXT NOT NULL,
	revision INTEGER NOT NULL,
	record   BLOB NOT NULL, -- JSON of the record, without what follows
	result   BLOB,          -- as it came: a second result is compared byte by byte
	PRIMARY KEY (task, visit, name)
) WITHOUT ROWID;

CREATE TABLE keys (
	tenant TEXT NOT NULL,
	hash   TEXT NOT NULL,
	note   BLOB NOT NULL,
	PRIMARY KEY (tenant, hash)
) WITHOUT ROWID;

CREATE TABLE parked (
	task       INTEGER NOT NULL,
	pause      INTEGER NOT NULL,
	token      TEXT NOT NULL DEFAULT '',
	generation INTEGER NOT NULL DEFAULT 0,
	entered_at INTEGER NOT NULL DEFAULT 0,
	attempt    INTEGER NOT NULL DEFAULT 0,
	answered   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (task, pause)
) WITHOUT ROWID;
`

// schema2 adds webhooks.
const schema2 migration = `
-- What is asked of an endpoint is asked by these names, so no query needs the
-- task's row.
CREATE TABLE endpoints (
	row        INTEGER PRIMARY KEY,
	tenant     TEXT NOT NULL,
	task       TEXT NOT NULL,
	id         TEXT NOT NULL,
	config     BLOB NOT NULL, -- JSON of the endpoint, without what follows
	secrets    BLOB,          -- sealed
	created_at INTEGER,
	wanted     INTEGER NOT NULL,
	revision   INTEGER NOT NULL,
	delivery   BLOB NOT NULL, -- JSON of the delivery, without what is a column here
	idle       INTEGER NOT NULL,
	due_at     INTEGER        -- NULL: nobody must look
);
CREATE UNIQUE INDEX endpoints_name ON endpoints (tenant, task, id);
CREATE INDEX endpoints_due ON endpoints (due_at, tenant, task, id) WHERE due_at IS NOT NULL;
`

// schema3 adds outside producers.
const schema3 migration = `
CREATE TABLE producers (
	task     INTEGER NOT NULL,
	producer TEXT NOT NULL,
	seq      INTEGER NOT NULL, -- of its last accepted report
	event    TEXT NOT NULL,    -- that report
	PRIMARY KEY (task, producer)
) WITHOUT ROWID;

CREATE TABLE quarantine (
	task    INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	record  BLOB NOT NULL, -- JSON, without what follows
	payload BLOB,          -- as it came; NULL: too large to be kept
	PRIMARY KEY (task, number)
) WITHOUT ROWID;

ALTER TABLE tasks ADD COLUMN quarantined INTEGER NOT NULL DEFAULT 0;

-- Of events of outside producers; a reason says that the event was refused.
ALTER TABLE receipts ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE receipts ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN detail TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN op TEXT NOT NULL DEFAULT '';
`

// schema4 lets a million tasks be listed: by agent and state without walking past the
// others, and counted without walking at all.
const schema4 migration = `
CREATE INDEX tasks_agent ON tasks (tenant, agent, status_at, task, state, context, expires_at);
CREATE INDEX tasks_state ON tasks (tenant, agent, state, status_at, task, context, expires_at);
CREATE INDEX tasks_expiry ON tasks (expires_at, tenant, task, agent, state) WHERE expires_at IS NOT NULL;

CREATE TABLE totals (
	tenant TEXT NOT NULL,
	agent  TEXT NOT NULL,
	state  TEXT NOT NULL,
	tasks  INTEGER NOT NULL,
	PRIMARY KEY (tenant, agent, state)
) WITHOUT ROWID;
INSERT INTO totals SELECT tenant, agent, state, count(*) FROM tasks GROUP BY tenant, agent, state;
CREATE TRIGGER tasks_made AFTER INSERT ON tasks BEGIN
	INSERT INTO totals VALUES (NEW.tenant, NEW.agent, NEW.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER tasks_moved AFTER UPDATE OF state ON tasks WHEN OLD.state <> NEW.state BEGIN
	UPDATE totals SET tasks = tasks - 1 WHERE tenant = OLD.tenant AND agent = OLD.agent AND state = OLD.state;
	INSERT INTO totals VALUES (NEW.tenant, NEW.agent, NEW.state, 1) ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER tasks_gone AFTER DELETE ON tasks BEGIN
	UPDATE totals SET tasks = tasks - 1 WHERE tenant = OLD.tenant AND agent = OLD.agent AND state = OLD.state;
END;
`

// schema5 lets tasks be forgotten.
const schema5 migration = `
-- What is left of a task while it is purged. It has the task's row, under which the
-- rest stands, and is the last to go.
CREATE TABLE purges (
	row        INTEGER PRIMARY KEY, -- was tasks.row
	tenant     TEXT NOT NULL,
	task       TEXT NOT NULL,
	expires_at INTEGER NOT NULL,
	head       BLOB NOT NULL
);
CREATE UNIQUE INDEX purges_name ON purges (tenant, task);
CREATE INDEX purges_expiry ON purges (expires_at, tenant, task);

ALTER TABLE keys ADD COLUMN forget_at INTEGER; -- NULL: the key of a task that is here
CREATE INDEX keys_forget ON keys (forget_at) WHERE forget_at IS NOT NULL;

-- Heads that were written before they knew their keys.
UPDATE tasks SET head = CAST(json_set(CAST(head AS TEXT), '$.ky', k.hash) AS BLOB)
	FROM (SELECT tenant, hash, json_extract(CAST(note AS TEXT), '$.task') AS task FROM keys) k
	WHERE tasks.tenant = k.tenant AND tasks.task = k.task;
`

// schema6 adds what operators did, and finds tasks by their agent version.
const schema6 migration = `
CREATE TABLE acts (
	task   INTEGER NOT NULL,
	number INTEGER NOT NULL,
	record BLOB NOT NULL,
	PRIMARY KEY (task, number)
) WITHOUT ROWID;

ALTER TABLE tasks ADD COLUMN acts INTEGER NOT NULL DEFAULT 0;

-- A version may leave the catalog when it has no live tasks.
ALTER TABLE tasks ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET version = json_extract(CAST(head AS TEXT), '$.av');
DROP INDEX tasks_status;
CREATE INDEX tasks_status ON tasks (tenant, status_at, task, state, agent, version, context, expires_at);
DROP INDEX tasks_agent;
CREATE INDEX tasks_agent ON tasks (tenant, agent, status_at, task, state, version, context, expires_at);
DROP INDEX tasks_state;
CREATE INDEX tasks_state ON tasks (tenant, agent, state, status_at, task, version, context, expires_at);
`

// schema7 adds findings.
const schema7 migration = `
CREATE TABLE findings (
	tenant   TEXT NOT NULL, -- empty: it is nobody's
	task     TEXT NOT NULL,
	kind     TEXT NOT NULL,
	first_at INTEGER NOT NULL,
	last_at  INTEGER NOT NULL,
	count    INTEGER NOT NULL,
	PRIMARY KEY (tenant, task, kind)
) WITHOUT ROWID;
CREATE INDEX findings_kind ON findings (kind, tenant, last_at, task, first_at, count);
`

// migrate runs, as one transaction, what the file has not seen.
func migrate(conn *sqlite3.Conn, from int, list []migration) error {
	if from == len(list) {
		return nil
	}
	if err := conn.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i, m := range list[from:] {
		if err := conn.Exec(string(m)); err != nil {
			err = fmt.Errorf("migrating the ledger from version %d to %d: %w", from+i, from+i+1, err)
			return errors.Join(err, conn.Exec("ROLLBACK"))
		}
	}
	if err := conn.Exec(fmt.Sprintf("UPDATE meta SET value = %d WHERE name = 'version'; COMMIT", len(list))); err != nil {
		return errors.Join(err, conn.Exec("ROLLBACK"))
	}
	return nil
}
