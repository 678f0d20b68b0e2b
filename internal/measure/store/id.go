package store

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// NewRunID returns an id that sorts by time, such as 20261121-153000-3f9a: the second in UTC and four digits from
// random (crypto/rand.Reader). Two runs that start within one second have the same id once in 65,536 times; Own refuses
// the second one.
func NewRunID(now time.Time, random io.Reader) (string, error) {
	var b [2]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("make a run id: %w", err)
	}
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(b[:]), nil
}

// isLast reports whether ref is of the form last or last~N.
func isLast(ref string) bool { return ref == "last" || strings.HasPrefix(ref, "last~") }

// Resolve returns the full id of the run that ref names: a full id, the beginning of a single one, "last" for the run
// started last, or "last~N" for the Nth before it. The error is a *RefError if ref matches no run or several.
func (s *Store) Resolve(ref string) (string, error) {
	if isLast(ref) {
		return s.resolveLast(ref)
	}
	if !runID.MatchString(ref) {
		return "", s.unknown(ref)
	}
	ids, err := s.ids("WHERE substr(id, 1, length(?)) = ?", ref, ref)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if id == ref || len(ids) == 1 {
			return id, nil
		}
	}
	if len(ids) == 0 {
		return "", s.unknown(ref)
	}
	return "", &RefError{Ref: ref, Candidates: ids[:min(len(ids), maxCandidates)], Matches: len(ids)}
}

func (s *Store) resolveLast(ref string) (string, error) {
	back := 0
	if text, ok := strings.CutPrefix(ref, "last~"); ok {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return "", s.unknown(ref)
		}
		back = int(n)
	}
	ids, err := s.ids("")
	if err != nil {
		return "", err
	}
	if back >= len(ids) {
		return "", s.unknown(ref)
	}
	return ids[back], nil
}

// maxCandidates keeps error messages readable.
const maxCandidates = 8

// unknown returns the error for a reference that matches no run.
func (s *Store) unknown(ref string) error {
	ids, err := s.ids("")
	if err != nil {
		return err
	}
	return &RefError{Ref: ref, Candidates: ids[:min(len(ids), maxCandidates)]}
}

// ids returns the ids of runs, newest first.
func (s *Store) ids(where string, args ...any) ([]string, error) {
	ids, err := s.listIDs(where, args...)
	if err != nil {
		return nil, s.explain("list the runs of", err)
	}
	return ids, nil
}

// listIDs is ids, with SQLite's own errors.
func (s *Store) listIDs(where string, args ...any) ([]string, error) {
	rows, err := s.db.Query("SELECT id FROM runs "+where+" ORDER BY started DESC, id DESC", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// IDs returns the ids of all runs, the one started last first. Unlike Runs it reads no records.
func (s *Store) IDs() ([]string, error) { return s.ids("") }
