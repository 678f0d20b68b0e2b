package store

import (
	"context"
	"database/sql"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"
)

// Delete removes runs with their trials and returns their space to the file system. It removes all or none, unless the
// disk is full. The error is a *RefError for an unknown run, and wraps ErrAlive for a run that is being measured.
func (s *Store) Delete(ids ...string) error {
	for _, id := range ids {
		if _, err := s.Run(id); err != nil && !isDamage(err) {
			return err
		}
		// Owned until the end, so that no process resumes a run that is being deleted.
		release, err := s.Own(id)
		if err != nil {
			return fmt.Errorf("remove run %s: %w", id, err)
		}
		defer release()
	}
	s.write.Lock()
	defer s.write.Unlock()
	err := s.transact(func(tx *sql.Tx) error {
		for _, id := range ids {
			// Their trials go with them (ON DELETE CASCADE).
			if _, err := tx.Exec("DELETE FROM runs WHERE id = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	if code(err)&0xff == sqlite3.SQLITE_FULL {
		err = s.deletePieces(ids)
	}
	if err != nil {
		return s.explain("remove runs from", err)
	}
	if err := s.shrink(); err != nil {
		return s.explain("give space back from", err)
	}
	return nil
}

// pieceTrials is the number of trials that deletePieces removes at once. They change some ten pages.
const pieceTrials = 4

// deletePieces removes runs on a full disk, where there is no room for the log of one big removal: it removes a few
// trials at a time, each time making room for the next.
func (s *Store) deletePieces(ids []string) error {
	for _, id := range ids {
		for left := int64(1); left > 0; {
			err := s.transact(func(tx *sql.Tx) error {
				r, err := tx.Exec("DELETE FROM trials WHERE rowid IN (SELECT rowid FROM trials WHERE run = ? ORDER BY rowid DESC LIMIT ?)", id, pieceTrials)
				if err != nil {
					return err
				}
				left, err = r.RowsAffected()
				return err
			})
			if err != nil {
				return err
			}
			if err := s.drain("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				return err
			}
		}
		if err := s.transact(func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM runs WHERE id = ?", id)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// shrink removes free pages from the file. Unlike VACUUM it needs no second copy of the database. If the disk has no
// room even for a short log, the pages stay, and later trials use them.
func (s *Store) shrink() error {
	// 2,048 pages are 8 MiB: other writers get their turn in between.
	for _, pages := range []int{2048, 16} {
		err := s.shrinkBy(pages)
		if code(err)&0xff != sqlite3.SQLITE_FULL {
			return err
		}
	}
	return nil
}

// shrinkBy removes that many pages at a time until none is free.
func (s *Store) shrinkBy(pages int) error {
	for before := -1; ; {
		var free int
		if err := s.db.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil {
			return err
		}
		// The count does not fall if others fill pages as fast as they are freed.
		if free == 0 || free == before {
			return s.drain("PRAGMA wal_checkpoint(TRUNCATE)")
		}
		before = free
		if err := s.drain(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages)); err != nil {
			return err
		}
		if err := s.drain("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
	}
}

// drain runs a statement that does its work while its rows are read.
func (s *Store) drain(query string) error {
	rows, err := s.db.QueryContext(context.Background(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
