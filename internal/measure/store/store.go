// Package store keeps records: runs and their trials, with every sample and every histogram, in one SQLite database in
// the state directory.
//
// A row holds a trial twice. The columns hold the few scalars that are queried (which cell, which block, done or
// failed, the figure). The blobs hold the whole record.Trial; its histograms are in a blob of their own, because most
// readers want ten thousand trials and none of their histograms. Nothing is computed here, and nothing is rounded.
//
// Once PutTrial has returned nil, the trial survives a kill -9 of this process at any later instruction,
// because SQLite's write-ahead log is in the kernel's hands by then. After a power cut the last few trials may be
// missing, but the database is whole: syncing the disk after every trial (synchronous FULL) would make the tool write
// to the disk that it measures.
//
// Several processes may use one database at once. Writers take turns and wait for each other up to busyTimeout. A lock
// on a file beside the database shows which process measures a run (Own, Alive); it ends with its process, however that
// dies. The status in the record can't show this, since a killed process leaves it at "running".
//
// Put methods deliberately take no context: a measurement must be recorded even if the run was just cancelled.
package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", in pure Go
)

// busyTimeout is how long a writer waits for another process. One write takes
// under a millisecond; giving back the space of a big run takes seconds.
const busyTimeout = 30 * time.Second

// A Store is an open database. Its methods may be called from several
// goroutines at once.
type Store struct {
	path string
	db   *sql.DB
	// readOnly is set for a database that may not be written.
	readOnly bool
	// file identifies the file at path when it was opened: see gone.
	file os.FileInfo
	// write queues this process's writers here, where waiting ends with a wake-up instead of SQLite's sleep and retry.
	write sync.Mutex

	// owned keeps the locks of Own from the garbage collector, which would close them if a caller drops its release
	// function.
	owned sync.Map // of *os.File
}

// Open opens the database at path. It creates the database, and its folders with mode 0700, if
// they are missing. A database that may not be written, as on a read-only file system, can be read; its Puts fail. The
// error names the path and what would help; it is a *VersionError for a database of another version.
func Open(path string) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the database %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w; name another state folder with --state", err)
	}
	if err := checkHeader(abs); err != nil {
		return nil, err
	}
	readOnly := unwritable(abs)
	db, err := sql.Open("sqlite", dsn(abs)+readOnly)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", abs, err)
	}
	// One writer and a few readers. Idle connections are kept, because opening one runs all the pragmas again.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	s := &Store{path: abs, db: db, readOnly: readOnly != ""}
	prepare := s.prepare
	if s.readOnly {
		prepare = s.prepareRead
	}
	if err := prepare(); err != nil {
		db.Close()
		return nil, s.explain("open", err)
	}
	if s.file, err = os.Stat(abs); err != nil {
		db.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return s, nil
}

// Close closes the database. Iterators must have ended.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return s.explain("close", err)
	}
	return nil
}

// dsn spells path as a URI, so that every character is allowed in it.
func dsn(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter: file:///C:/...
	}
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_foreign_keys": {"on"},
		"_synchronous":  {"NORMAL"},
		// A transaction that reads before it writes can't wait for another writer; one that is a writer from its start
		// can.
		"_txlock": {"immediate"},
		// Pages of 4 KiB; the default is 1,000. A short log leaves little to be written back while a trial measures,
		// and a full disk has less of it to merge.
		"_pragma": {"wal_autocheckpoint(128)"},
		// Hardening against damaged and foreign files.
		"_defensive": {"true"},
		"_error_rc":  {"true"},
	}
	return (&url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}).String()
}

// sqliteMagic begins every SQLite database (https://sqlite.org/fileformat2.html).
const sqliteMagic = "SQLite format 3\x00"

// checkHeader refuses a file that is clearly not a database, before SQLite can write beside it. A missing or empty file
// is fine.
func checkHeader(path string) error {
	// Check before opening: a named pipe would wait for a writer, and no interrupt would end that.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file and so not a database of plimsoll; name another state folder with --state", path)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	switch n, err := io.ReadFull(f, head); {
	case err == io.EOF:
		return nil
	case err != nil && err != io.ErrUnexpectedEOF:
		return fmt.Errorf("read the database: %w", err)
	case string(head[:n]) != sqliteMagic:
		return fmt.Errorf("%s is not a database; move it away, or name another state folder with --state", path)
	}
	return nil
}
