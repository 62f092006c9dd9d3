package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
)

// damage takes the first and the last entry out of each task's history that has not
// ended, or puts back what it has taken. What the ledger says of the tasks is false in between.
func damage(args []string) (err error) {
	f := flag.NewFlagSet("trial damage", flag.ContinueOnError)
	data := f.String("data", "", "folder")
	undo := f.Bool("undo", false, "put back what was taken")
	if err := f.Parse(args); err != nil {
		return err
	}
	db, err := sqlite3.Open(filepath.Join(*data, "holdfast.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sql := `CREATE TABLE damaged AS SELECT e.position, e.task, e.seq, e.envelope, e.payload FROM entries e JOIN tasks t ON t.row = e.task
			WHERE t.due_at IS NOT NULL AND e.seq IN (1, (SELECT max(seq) FROM entries WHERE task = e.task));
		DELETE FROM entries WHERE position IN (SELECT position FROM damaged)`
	if *undo {
		sql = `INSERT INTO entries SELECT position, task, seq, envelope, payload FROM damaged; DROP TABLE damaged`
	}
	if err := db.Exec("BEGIN IMMEDIATE; " + sql + "; COMMIT"); err != nil {
		return fmt.Errorf("damaging %s: %w", *data, err)
	}
	return nil
}
