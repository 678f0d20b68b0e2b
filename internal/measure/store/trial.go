package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
	"plimsoll/internal/measure/record"
)

// PutTrial records a trial of a recorded run. Once it returns nil, the trial survives the death of this process.
//
// The same trial (with the same start) replaces its earlier record. For another trial of a recorded cell and block the
// error is ErrRecorded.
func (s *Store) PutTrial(t record.Trial) error {
	if err := checkTrial(t); err != nil {
		return err
	}
	scalars, lats := split(t)
	rec, err := encodeBlob(scalars)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name(t), err)
	}
	histograms, err := lats.encode()
	if err != nil {
		return fmt.Errorf("encode the histograms of %s: %w", name(t), err)
	}
	s.write.Lock()
	defer s.write.Unlock()
	err = s.transact(func(tx *sql.Tx) error { return insertTrial(tx, t, rec, histograms) })
	switch {
	case errors.Is(err, ErrRecorded):
		return fmt.Errorf("%s: %w", name(t), err)
	case code(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fmt.Errorf("%s: its run is not in the database %s", name(t), s.path)
	case err != nil:
		return s.explain("write "+name(t)+" to", err)
	}
	return s.gone(t.Run)
}

// name returns the name of a trial in errors.
func name(t record.Trial) string {
	return fmt.Sprintf("run %s, trial %s, %s", t.Run, t.Key, record.BlockName(t.Block))
}

// checkTrial refuses a trial that could not be found again.
func checkTrial(t record.Trial) error {
	switch {
	case t.Run == "" || t.Key == "":
		return fmt.Errorf("%s: a trial needs a run and a key", name(t))
	case t.Block < 0 || t.Order < 0:
		return fmt.Errorf("%s: block and order %d must not be negative", name(t), t.Order)
	case t.Status != record.Done && t.Status != record.Failed:
		return fmt.Errorf("%s: status %q is neither %q nor %q", name(t), t.Status, record.Done, record.Failed)
	}
	return finite(name(t), t)
}

// transact runs f in a transaction that is a writer from its start. If the disk is full, it merges the write-ahead log,
// which may take more space than its contents, and tries once more.
func (s *Store) transact(f func(*sql.Tx) error) error {
	err := s.try(f)
	if code(err)&0xff == sqlite3.SQLITE_FULL && s.drain("PRAGMA wal_checkpoint(TRUNCATE)") == nil {
		err = s.try(f)
	}
	return err
}

func (s *Store) try(f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func insertTrial(tx *sql.Tx, t record.Trial, rec, histograms []byte) error {
	var started int64
	err := tx.QueryRow("SELECT started FROM trials WHERE run = ? AND key = ? AND block = ?", t.Run, t.Key, t.Block).Scan(&started)
	switch {
	case err == nil && started != micros(t.Started):
		return ErrRecorded
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	}
	_, err = tx.Exec(`INSERT OR REPLACE INTO trials (run, key, block, ord, status, started, record, histograms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.Run, t.Key, t.Block, t.Order, t.Status, micros(t.Started), rec, histograms)
	return err
}

// A Slot is one cell in one block: what a resumed run must know about a trial.
type Slot struct {
	Key   string
	Block int
	// Status is record.Done or record.Failed.
	Status string
}

// Slots returns what was tried in a run, in the order of blocks and trials. It doesn't read the trials themselves.
// For an unknown run it returns nothing.
func (s *Store) Slots(run string) ([]Slot, error) {
	rows, err := s.db.Query(`SELECT key, block, status FROM trials
		WHERE run = ? ORDER BY block, ord`, run)
	if err != nil {
		return nil, s.explain("list the trials of run "+run+" in", err)
	}
	defer rows.Close()
	var slots []Slot
	for rows.Next() {
		var l Slot
		if err := rows.Scan(&l.Key, &l.Block, &l.Status); err != nil {
			return nil, s.explain("list the trials of run "+run+" in", err)
		}
		slots = append(slots, l)
	}
	if err := rows.Err(); err != nil {
		return nil, s.explain("list the trials of run "+run+" in", err)
	}
	return slots, nil
}
