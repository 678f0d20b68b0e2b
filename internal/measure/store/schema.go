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

// schemaVersion is the version of a database (PRAGMA user_version). Databases of other versions are refused: it changes
// with the tables, and when a key of the records changes its meaning or is removed.
const schemaVersion = 3

// schema makes the tables. Times are microseconds since 1970, 0 unknown.
//
// The blobs come last, so that SQLite doesn't read them on its way to a scalar.
// trials_order lets Trials walk in order without sorting blobs, and counts
// without touching rows.
const schema = `
CREATE TABLE runs (
	id      TEXT PRIMARY KEY,
	plan    TEXT NOT NULL,
	status  TEXT NOT NULL,
	started INTEGER NOT NULL,
	record  TEXT NOT NULL
);
CREATE INDEX runs_started ON runs (started, id);
CREATE TABLE trials (
	run        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	key        TEXT NOT NULL,
	block      INTEGER NOT NULL,
	ord        INTEGER NOT NULL,
	status     TEXT NOT NULL,
	started    INTEGER NOT NULL,
	record     BLOB NOT NULL,
	histograms BLOB,
	PRIMARY KEY (run, key, block)
);
CREATE INDEX trials_order ON trials (run, block, ord, status, key);
`

// A VersionError says that a database was made by another version of plimsoll.
type VersionError struct {
	Path string
	// Have is the schema version of the database.
	Have int
}

// Error implements error.
func (e *VersionError) Error() string {
	which := "an earlier"
	if e.Have > schemaVersion {
		which = "a later"
	}
	return fmt.Sprintf("the database %s was made by %s version of plimsoll (schema version %d, and this one knows %d): "+
		"read it with that version, or name another state folder with --state", e.Path, which, e.Have, schemaVersion)
}

// prepare turns on the write-ahead log and makes the tables of a new database.
func (s *Store) prepare() error {
	ctx := context.Background()
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	isNew, err := s.isNew(ctx, c)
	if err != nil {
		return err
	}
	if isNew {
		// This lets Delete return space piecemeal. It must come before anything is written, and it writes to the header
		// each time, so it is done for new databases only.
		if _, err := c.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	if err := walMode(ctx, c); err != nil || !isNew {
		return err
	}
	return s.makeTables(ctx, c)
}

// makeTables makes the tables in one transaction, unless another process has.
func (s *Store) makeTables(ctx context.Context, c *sql.Conn) error {
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if isNew, err := s.isNew(ctx, tx); err != nil || !isNew {
		return err
	}
	if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", schemaVersion, applicationID)); err != nil {
		return err
	}
	return tx.Commit()
}

// A querier is a *sql.DB, *sql.Conn or *sql.Tx.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// isNew reports whether a database is empty. It refuses databases of other programs and of other versions.
func (s *Store) isNew(ctx context.Context, q querier) (bool, error) {
	var version, app, tables int
	// A single statement, so that all three values are of the same moment.
	err := q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&version, &app, &tables)
	switch {
	case err != nil:
		return false, err
	case tables == 0:
		return true, nil
	case app != applicationID:
		return false, fmt.Errorf("%w: move it away, or name another state folder with --state", errForeign)
	case version != schemaVersion:
		return false, &VersionError{s.path, version}
	}
	return false, nil
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
