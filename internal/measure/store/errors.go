package store

import (
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// ErrAlive says that a run is being measured by a living process.
var ErrAlive = errors.New("the run is being measured")

// ErrRecorded says that the cell has a trial in that block: a measurement is never overwritten by another.
var ErrRecorded = errors.New("another trial of that cell and block is recorded")

// A RefError says that a reference matches no run, or several.
type RefError struct {
	// Ref is the reference.
	Ref string
	// Candidates are the runs that it may mean, newest first, at most 8: those that match if several do, otherwise the
	// newest.
	Candidates []string
	// Matches is the number of runs that match.
	Matches int
	// Flags are the options of the command in the text: " --state /srv/state", or "".
	Flags string
}

// Error implements error.
func (e *RefError) Error() string {
	list := strings.Join(e.Candidates, ", ")
	switch {
	case e.Matches > len(e.Candidates):
		return fmt.Sprintf("run %q is ambiguous: %d runs match, such as %s", e.Ref, e.Matches, list)
	case e.Matches > 0:
		return fmt.Sprintf("run %q is ambiguous: %s", e.Ref, list)
	case len(e.Candidates) == 0:
		return fmt.Sprintf("run %q is not known: no run is recorded", e.Ref)
	}
	return fmt.Sprintf("run %q is not known; the newest are %s (see: plimsoll results ls%s)", e.Ref, list, e.Flags)
}

// A DamageError says that one record, or all those on damaged pages, can't be read. Others still can.
type DamageError struct {
	Run string
	// Key and Block name the trial; Key is empty for the run's own record and for pages.
	Key   string
	Block int
	// Lost is the number of trials on the damaged pages: 0 for one record, LostUnknown if the index is damaged too.
	Lost int
	Err  error
}

// LostUnknown is a DamageError's Lost if the number of trials is unknown.
const LostUnknown = -1

// Error implements error.
func (e *DamageError) Error() string {
	switch {
	case e.Lost == LostUnknown:
		return fmt.Sprintf("pages with trials of run %s are damaged, and how many trials were there is not known: %v", e.Run, e.Err)
	case e.Lost > 0:
		return fmt.Sprintf("pages with %s of run %s are damaged: %v", size.Plural(e.Lost, "trial"), e.Run, e.Err)
	case e.Key == "":
		return fmt.Sprintf("the record of run %s is damaged: %v", e.Run, e.Err)
	}
	return fmt.Sprintf("the record of run %s, trial %s, %s is damaged: %v", e.Run, e.Key, record.BlockName(e.Block), e.Err)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// explain adds to an error of SQLite the path and what would help.
func (s *Store) explain(verb string, err error) error {
	var version *VersionError
	if errors.As(err, &version) {
		return err
	}
	fix := ""
	switch c := code(err); c & 0xff {
	case sqlite3.SQLITE_FULL:
		fix = "; there is no space left: free some (plimsoll results rm needs a few hundred KB to make more), or name another state folder with --state"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		fix = "; the folder must exist and be writable: name another state folder with --state"
	case sqlite3.SQLITE_NOTADB:
		fix = "; it is not a database: move it away, or name another state folder with --state"
	case sqlite3.SQLITE_CORRUPT:
		away := "move it away with its -wal and -shm files, or name another state folder with --state"
		fix = "; it is damaged, and nothing can be exported from it: restore a copy, or " + away
		// The advice must not fail for the same reason: export needs the list of the runs.
		if ids, err := s.listIDs(""); err == nil && len(ids) > 0 {
			fix = fmt.Sprintf("; it is damaged: save the readable part (plimsoll results export %s -o FILE), then %s", strings.Join(ids[:min(len(ids), maxCandidates)], " "), away)
		}
	case sqlite3.SQLITE_BUSY:
		fix = fmt.Sprintf("; another process kept it locked for %v", busyTimeout)
	case sqlite3.SQLITE_IOERR:
		// A full disk is one possible reason: the log's index is a mapped file.
		fix = "; the disk is full or refused: free some, or name another state folder with --state"
	}
	return fmt.Errorf("%s the database %s: %w%s", verb, s.path, err, fix)
}

// isDamage reports whether err is about one damaged record.
func isDamage(err error) bool {
	var d *DamageError
	return errors.As(err, &d)
}
