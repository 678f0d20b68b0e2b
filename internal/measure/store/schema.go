package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// applicationID marks the file as Plimsoll's: "plim" in ASCII
// (https://sqlite.org/pragma.html#pragma_application_id).
const applicationID = 0x706c696d

// migrations take a database from one schema version to the next; the version of a database is the number of migrations
// applied to it (PRAGMA user_version). A released entry is never edited: add another.
var migrations = []string{schema1, schema2}

// schema1 is the first schema. Times are microseconds since 1970, 0 unknown.
//
// A cell that failed in a block may be tried again: the rows of one (run, key,
// block) differ in attempt, and all but the last have superseded = 1.
//
// The blobs come last, so that SQLite doesn't read them on its way to a scalar.
// trials_order lets Trials walk in order without sorting blobs, and counts
// without touching rows.
const schema1 = `
CREATE TABLE runs (
	id      TEXT PRIMARY KEY,
	plan    TEXT NOT NULL,
	status  TEXT NOT NULL,
	started INTEGER NOT NULL,
	ended   INTEGER NOT NULL,
	blocks  INTEGER NOT NULL,
	record  TEXT NOT NULL
);
CREATE INDEX runs_started ON runs (started, id);
CREATE TABLE trials (
	run        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	key        TEXT NOT NULL,
	block      INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	superseded INTEGER NOT NULL,
	ord        INTEGER NOT NULL,
	workload   TEXT NOT NULL,
	engine     TEXT NOT NULL,
	place      TEXT NOT NULL,
	limits     TEXT NOT NULL,
	clients    INTEGER NOT NULL,
	control    INTEGER NOT NULL,
	status     TEXT NOT NULL,
	metric     TEXT NOT NULL,
	unit       TEXT NOT NULL,
	value      REAL NOT NULL,
	started    INTEGER NOT NULL,
	record     BLOB NOT NULL,
	histograms BLOB,
	PRIMARY KEY (run, key, block, attempt)
);
CREATE INDEX trials_order ON trials (run, superseded, block, ord, status, key, attempt);
`

// schema2 changes no table. Since then a trial's blob has the truth and the where of each client in lists, and a
// plimsoll that knows only schema 1 must refuse what it would misread. Blobs of schema 1 are read as they are
// (perClient); rewriting a large database would take minutes and as much space again.
const schema2 = `SELECT 1;`

// A NewerError says that a database was made by a later plimsoll.
type NewerError struct {
	Path string
	// Have is the schema version of the database, Know the newest that this
	// plimsoll knows.
	Have, Know int
}

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the database %s has schema version %d, and this plimsoll knows versions up to %d: "+
		"update plimsoll, or name another state folder with --state", e.Path, e.Have, e.Know)
}

// prepare turns on the write-ahead log and applies missing migrations.
func (s *Store) prepare(migrations []string) error {
	ctx := context.Background()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	have, err := s.version(ctx, c, len(migrations))
	if err != nil {
		return err
	}
	if have == 0 {
		// This lets Delete return space piecemeal. It must come before anything is written, and it writes to the header
		// each time, so it is done for new databases only.
		if _, err := c.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	if err := walMode(ctx, c); err != nil {
		return err
	}
	if have == len(migrations) {
		return nil
	}
	return s.migrate(ctx, c, migrations)
}

// migrate applies missing migrations in one transaction.
func (s *Store) migrate(ctx context.Context, c *sql.Conn, migrations []string) error {
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Check again, now that no other process can migrate.
	have, err := s.version(ctx, tx, len(migrations))
	if err != nil {
		return err
	}
	for i, m := range migrations[have:] {
		if _, err := tx.ExecContext(ctx, m); err != nil {
			return fmt.Errorf("bring the schema to version %d: %w", have+i+1, err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", len(migrations), applicationID))
	if err != nil {
		return err
	}
	return tx.Commit()
}

// A querier is a *sql.DB, *sql.Conn or *sql.Tx.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the schema version, 0 for an empty database. It refuses databases of other programs, and versions
// above known.
func (s *Store) version(ctx context.Context, q querier, known int) (int, error) {
	var version, app, tables int
	// A single statement, so that all three values are of the same moment.
	err := q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&version, &app, &tables)
	if err != nil {
		return 0, err
	}
	switch {
	case tables > 0 && app != applicationID:
		return 0, fmt.Errorf("%w: move it away, or name another state folder with --state", errForeign)
	case version > known:
		return 0, &NewerError{s.path, version, known}
	case version < 0:
		return 0, fmt.Errorf("%w: schema version %d", errForeign, version)
	}
	return version, nil
}

var errForeign = errors.New("it is a database of another program")

// walMode switches to the write-ahead log, which then stays on. If several processes create a database at once, all but
// one are refused at first without SQLite's busy handler being asked, so walMode waits itself.
func walMode(ctx context.Context, c *sql.Conn) error {
	for end := time.Now().Add(busyTimeout); ; time.Sleep(10 * time.Millisecond) {
		var mode string
		err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("its file system has no shared memory for a write-ahead log (journal mode %q)", mode)
		case err == nil:
			return nil
		case code(err)&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end):
			return err
		}
	}
}

// code returns SQLite's extended result code, or 0 if err is of another kind.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
