package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/measure/record"
)

// runID allows names that are safe as file names anywhere, because the lock of a run is a file.
var runID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$`)

// PutRun records run, replacing an earlier record with its ID; the run's trials stay.
func (s *Store) PutRun(run record.Run) error {
	if !runID.MatchString(run.ID) || isLast(run.ID) {
		return fmt.Errorf("run %q: an id is 1 to 100 letters, digits, dashes and underscores, and not \"last\"", run.ID)
	}
	if err := finite("run "+run.ID, run); err != nil {
		return err
	}
	text, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("encode run %s: %w", run.ID, err)
	}
	s.write.Lock()
	defer s.write.Unlock()
	err = s.transact(func(tx *sql.Tx) error {
		// Not INSERT OR REPLACE, which deletes the old row together with its trials.
		_, err := tx.Exec(`INSERT INTO runs (id, plan, status, started, record)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, status = excluded.status, started = excluded.started,
				record = excluded.record`,
			run.ID, run.Plan, run.Status, micros(run.Started), string(text))
		return err
	})
	if err != nil {
		return s.explain("write run "+run.ID+" to", err)
	}
	return s.gone(run.ID)
}

// micros converts t for the columns: microseconds since 1970, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Run returns the run with that full id; see Resolve for abbreviations. The error is a *RefError if there is none.
func (s *Store) Run(id string) (record.Run, error) {
	var text []byte
	err := s.db.QueryRow("SELECT record FROM runs WHERE id = ?", id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Run{}, s.unknown(id)
	}
	if code(err)&0xff == sqlite3.SQLITE_CORRUPT {
		return record.Run{}, &DamageError{Run: id, Err: err}
	}
	if err != nil {
		return record.Run{}, s.explain("read run "+id+" from", err)
	}
	return decodeRun(id, text)
}

func decodeRun(id string, text []byte) (record.Run, error) {
	var run record.Run
	if err := json.Unmarshal(text, &run); err != nil {
		return record.Run{}, &DamageError{Run: id, Err: err}
	}
	if run.ID != id {
		return record.Run{}, &DamageError{Run: id, Err: fmt.Errorf("it holds run %q", run.ID)}
	}
	return run, nil
}

// A Filter selects runs. The zero value selects all.
type Filter struct {
	// Plan and Status, if set, are the plan's name and the status in the record.
	Plan, Status string
	// Limit, if above 0, is the maximum number of runs returned.
	Limit int
}

// A Summary is a run with counts of its trials.
type Summary struct {
	record.Run
	// Trials is the number of trials recorded, Failed the number of those that failed.
	Trials int `json:"trials"`
	Failed int `json:"failed"`
	// BlocksDone is the number of blocks that hold a trial of every cell that the run has reached. A single block of a
	// run that has not ended doesn't count.
	BlocksDone int `json:"blocks_done"`
	// Alive reports whether a living process measures the run. A run with status running that is not alive was killed:
	// it is broken, and can be resumed.
	Alive bool `json:"alive"`
}

// Broken reports whether the run's process died before it ended the run.
func (s Summary) Broken() bool { return s.Status == record.Running && !s.Alive }

// Runs returns the selected runs, the one started last first. If some can't be read, it returns the others, and an
// error that joins a *DamageError for each.
func (s *Store) Runs(f Filter) ([]Summary, error) {
	limit := -1
	if f.Limit > 0 {
		limit = f.Limit
	}
	rows, err := s.db.Query(`SELECT id, record FROM runs
		WHERE ? IN ('', plan) AND ? IN ('', status)
		ORDER BY started DESC, id DESC LIMIT ?`, f.Plan, f.Status, limit)
	if err != nil {
		return nil, s.explain("list the runs of", err)
	}
	defer rows.Close()
	var all []Summary
	var bad []error
	for rows.Next() {
		var id string
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return all, s.explain("list the runs of", err)
		}
		run, err := decodeRun(id, text)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, Summary{Run: run})
	}
	if err := rows.Err(); err != nil {
		return all, s.explain("list the runs of", err)
	}
	for i := range all {
		if err := s.summarize(&all[i]); err != nil {
			return all, err
		}
	}
	return all, errors.Join(bad...)
}

// summarize counts the trials of a run.
func (s *Store) summarize(r *Summary) error {
	slots, err := s.Slots(r.ID)
	if err != nil {
		return err
	}
	cells := make(map[string]bool)
	blocks := make(map[int]int)
	for _, l := range slots {
		cells[l.Key] = true
		blocks[l.Block]++
		r.Trials++
		if l.Status == record.Failed {
			r.Failed++
		}
	}
	for _, n := range blocks {
		if n == len(cells) && (len(blocks) > 1 || r.Status == record.Done) {
			r.BlocksDone++
		}
	}
	r.Alive, err = s.Alive(r.ID)
	return err
}
