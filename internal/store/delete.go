package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Delete removes runs with their trials, all or none, and gives their space back to
// the file system. The error is a *RefError for an unknown run and wraps ErrAlive for one
// that is being measured.
func (s *Store) Delete(ids ...string) error {
	for _, id := range ids {
		if _, err := s.Run(id); err != nil && !isDamage(err) {
			return err
		}
		// Owned until the end, so that nobody resumes what is about to go.
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
	if err != nil {
		return s.explain("remove runs from", err)
	}
	if err := s.shrink(); err != nil {
		return s.explain("give space back from", err)
	}
	return nil
}

// shrink cuts free pages off the file. Unlike VACUUM it needs no second copy of
// the database, and so works on a disk that is full.
func (s *Store) shrink() error {
	c, err := s.db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer c.Close()
	// Each step of this statement frees a page, so it is run to its end.
	for _, q := range []string{"PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		rows, err := c.QueryContext(context.Background(), q)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}
