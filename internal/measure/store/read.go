package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"

	"plimsoll/internal/measure/record"
)

// TrialsOptions chooses trials and how much of each is read.
type TrialsOptions struct {
	// Histograms asks for the latencies. Without it Lat and Response of every class are nil, and reading takes a tenth
	// of the memory and two thirds of the time.
	Histograms bool
	// Key, if set, selects one cell; Block, if not nil, one block.
	Key   string
	Block *int
}

// Trials returns trials of the run of that full id, in the order of blocks and
// trials. If some can't be read it returns the others, and an error that joins a
// *DamageError for each. An unknown run has none.
//
// The trials of one cell share what their Spec and Where point to; don't change it.
//
// Ten thousand trials with histograms are several hundred MB in memory; use
// EachTrial where one at a time will do.
func (s *Store) Trials(run string, opt TrialsOptions) ([]record.Trial, error) {
	var all []record.Trial
	var bad []error
	for t, err := range s.EachTrial(run, opt) {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, t)
	}
	return all, errors.Join(bad...)
}

// EachTrial yields what Trials returns, one at a time, with a *DamageError in
// place of each trial that can't be read. An error of another kind is the last.
// The database may be written to in the meantime; EachTrial doesn't see that.
func (s *Store) EachTrial(run string, opt TrialsOptions) iter.Seq2[record.Trial, error] {
	return func(yield func(record.Trial, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		var wait sync.WaitGroup
		// In this order: stop the goroutines, then wait until they let go of the
		// connection.
		defer wait.Wait()
		defer cancel()
		for b := range s.pipeline(ctx, &wait, run, opt) {
			<-b.ready
			for i := range b.out {
				if !yield(b.out[i].t, b.out[i].err) {
					return
				}
			}
		}
	}
}

// batchSize is the number of trials that are passed on together: enough to hide the cost of a channel, few enough to
// keep all CPUs busy with a hundred trials.
const batchSize = 16

// A rawTrial is a row before decoding.
type rawTrial struct {
	key             string
	block           int
	rec, histograms []byte
}

// A batch is some rows and, once ready is closed, their decoded contents.
type batch struct {
	in    []rawTrial
	out   []decoded
	ready chan struct{}
}

type decoded struct {
	t   record.Trial
	err error
}

// pipeline reads rows in one goroutine and decodes them in one per CPU, because decoding takes several times as long
// as reading. It returns the batches in order, possibly before they are ready.
func (s *Store) pipeline(ctx context.Context, wait *sync.WaitGroup, run string, opt TrialsOptions) <-chan *batch {
	workers := runtime.GOMAXPROCS(0)
	ordered := make(chan *batch, 2*workers)
	work := make(chan *batch, 2*workers)
	send := func(b *batch) bool {
		for _, c := range []chan *batch{work, ordered} {
			select {
			case c <- b:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	wait.Go(func() {
		defer close(ordered)
		defer close(work)
		if err := s.readRows(ctx, run, opt, send); err != nil && ctx.Err() == nil {
			b := &batch{out: []decoded{{err: err}}, ready: make(chan struct{})}
			close(b.ready)
			select {
			case ordered <- b:
			case <-ctx.Done():
			}
		}
	})
	for range workers {
		wait.Go(func() {
			var d decoder
			for b := range work {
				if ctx.Err() == nil {
					b.decode(&d, run)
				}
				close(b.ready)
			}
		})
	}
	return ordered
}

// decode fills out.
func (b *batch) decode(d *decoder, run string) {
	b.out = make([]decoded, len(b.in))
	for i, r := range b.in {
		t, err := d.decodeTrial(r.rec, r.histograms)
		if err == nil && (t.Run != run || t.Key != r.key || t.Block != r.block) {
			err = fmt.Errorf("it holds %s", name(t))
		}
		if err != nil {
			b.out[i].err = &DamageError{Run: run, Key: r.key, Block: r.block, Err: err}
			continue
		}
		b.out[i].t = t
	}
	b.in = nil
}

// readRows sends the rows in batches until send reports that no more are wanted.
func (s *Store) readRows(ctx context.Context, run string, opt TrialsOptions, send func(*batch) bool) error {
	in := make([]rawTrial, 0, batchSize)
	flush := func() bool {
		b := &batch{in: in, ready: make(chan struct{})}
		in = make([]rawTrial, 0, batchSize)
		return send(b)
	}
	seen := map[rowName]bool{}
	err := s.walk(ctx, run, opt, func(r rawTrial) bool {
		seen[r.name()] = true
		in = append(in, r)
		return len(in) < batchSize || flush()
	})
	if code(err)&0xff == sqlite3.SQLITE_CORRUPT {
		rest := s.salvage(ctx, run, opt, seen)
		in = append(in, rest...)
		err = &DamageError{Run: run, Lost: s.lost(ctx, run, opt, len(seen)), Err: fmt.Errorf("%w: %d of its trials can still be read", err, len(seen))}
	} else if err != nil {
		err = s.explain("read the trials of run "+run+" from", err)
	}
	flush() // On an error too: these were read.
	return err
}

// walk reads rows in order until each returns false.
func (s *Store) walk(ctx context.Context, run string, opt TrialsOptions, each func(rawTrial) bool) error {
	rows, err := s.queryTrials(ctx, run, opt)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r rawTrial
		if err := r.scan(rows); err != nil {
			return err
		}
		if !each(r) {
			return nil
		}
	}
	return rows.Err()
}

// A rowName identifies a trial of a run.
type rowName struct {
	key   string
	block int
}

func (r *rawTrial) name() rowName { return rowName{r.key, r.block} }

func (r *rawTrial) scan(rows *sql.Rows) error {
	return rows.Scan(&r.key, &r.block, &r.rec, &r.histograms)
}

// salvage reads the trials of a run that are not in seen one by one, past damaged pages, and adds them to seen. Neither
// an index nor the table as a whole can be walked there.
func (s *Store) salvage(ctx context.Context, run string, opt TrialsOptions, seen map[rowName]bool) (all []rawTrial) {
	last := int64(salvageRows)
	// The last row may be on an intact page.
	_ = s.db.QueryRowContext(ctx, "SELECT rowid FROM trials ORDER BY rowid DESC LIMIT 1").Scan(&last)
	for id := int64(1); id <= last && ctx.Err() == nil; id++ {
		rows, err := s.queryRow(ctx, run, opt, id)
		if err != nil {
			continue
		}
		var r rawTrial
		if rows.Next() && r.scan(rows) == nil && !seen[r.name()] {
			seen[r.name()] = true
			all = append(all, r)
		}
		rows.Close()
	}
	return all
}

// lost returns how many of the selected trials can't be read, by the index, which has no blobs; LostUnknown if the
// index is damaged too.
func (s *Store) lost(ctx context.Context, run string, opt TrialsOptions, read int) int {
	where, args := opt.where("run = ?", run)
	var all int
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM trials WHERE "+where, args...).Scan(&all); err != nil || all <= read {
		return LostUnknown
	}
	return all - read
}

// salvageRows is the number of rows that salvage tries if it can't find the last one.
const salvageRows = 100_000

func (s *Store) queryTrials(ctx context.Context, run string, opt TrialsOptions) (*sql.Rows, error) {
	return s.query(ctx, "run = ?", run, opt, " ORDER BY block, ord")
}

// queryRow reads one row by its number, without an index, which may be damaged.
func (s *Store) queryRow(ctx context.Context, run string, opt TrialsOptions, id int64) (*sql.Rows, error) {
	return s.query(ctx, fmt.Sprintf("rowid = %d AND +run = ?", id), run, opt, "")
}

func (s *Store) query(ctx context.Context, condition, run string, opt TrialsOptions, order string) (*sql.Rows, error) {
	what := "NULL"
	if opt.Histograms {
		what = "histograms"
	}
	where, args := opt.where(condition, run)
	return s.db.QueryContext(ctx, "SELECT key, block, record, "+what+
		" FROM trials WHERE "+where+order, args...)
}

// where adds the selection to a condition on the run.
func (opt TrialsOptions) where(where, run string) (string, []any) {
	args := []any{run}
	if opt.Key != "" {
		where, args = where+" AND key = ?", append(args, opt.Key)
	}
	if opt.Block != nil {
		where, args = where+" AND block = ?", append(args, *opt.Block)
	}
	return where, args
}
