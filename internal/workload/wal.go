package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"plimsoll/hist"
	"plimsoll/load"
)

// walRun commits records to a log that grows to a segment: write, then fdatasync.
type walRun struct {
	spec   Spec
	path   string
	f      *os.File
	record []byte
	// at is the offset of the next record.
	at int64
}

// segment is where the log begins anew, over its own old records, as databases
// recycle theirs: etcd's segments have 64 MB. It keeps a log in memory, which
// takes a gigabyte a second, from filling it.
const segment = 64 << 20

func prepareWAL(spec Spec, path string) (*walRun, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	record := make([]byte, spec.BS)
	// Not compressible, and the same in every trial.
	rng := rand.NewChaCha8([32]byte{'w', 'a', 'l'})
	rng.Read(record)
	return &walRun{spec: spec, path: path, f: f, record: record}, nil
}

// Run implements Runner.
func (w *walRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	commit := load.Class{Name: "commit", Lat: &hist.Histogram{}}
	write := load.Class{Name: "write", Lat: &hist.Histogram{}}
	sync := load.Class{Name: "sync", Lat: &hist.Histogram{}}
	win := openWindow()
	m := newMeter(w.spec.Runtime, onSample)
	begin := m.start
	for w.more(commit.Ops, begin.Sub(m.start)) {
		if w.at+w.spec.BS > segment {
			w.at = 0
		}
		if _, err := w.f.WriteAt(w.record, w.at); err != nil {
			return nil, m.partial(fmt.Errorf("commit %d: %w", commit.Ops+1, err))
		}
		w.at += w.spec.BS
		written := time.Now()
		if err := datasync(w.f); err != nil {
			return nil, m.partial(fmt.Errorf("commit %d: fdatasync: %w", commit.Ops+1, err))
		}
		end := time.Now()
		write.Lat.Record(int64(written.Sub(begin)))
		sync.Lat.Record(int64(end.Sub(written)))
		commit.Lat.Record(int64(end.Sub(begin)))
		commit.Ops++
		write.Ops++
		sync.Ops++
		commit.Bytes += w.spec.BS
		write.Bytes += w.spec.BS
		m.done(end, w.spec.BS)
		begin = end
		if ctx.Err() != nil {
			return nil, m.partial(context.Cause(ctx))
		}
	}
	r := m.finish(commit, write, sync)
	win.close(r)
	return r, nil
}

// more reports whether another commit is due.
func (w *walRun) more(done int64, elapsed time.Duration) bool {
	if w.spec.Count > 0 && done >= int64(w.spec.Count) {
		return false
	}
	return elapsed < w.spec.Runtime
}

// Close implements Runner.
func (w *walRun) Close() error {
	w.f.Close()
	return removeIfThere(w.path)
}
