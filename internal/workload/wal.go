package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"plimsoll/load"
)

// walRun commits records to a log that grows to a segment: write, then fdatasync.
type walRun struct {
	spec   Spec
	path   string
	f      file
	record []byte
	// at is the offset of the next record.
	at   int64
	hang func(*Result)
}

// segment is where the log begins anew, over its own old records, as databases
// recycle theirs: etcd's segments have 64 MB. It keeps a log in memory, which
// takes a gigabyte a second, from filling it.
const segment = 64 << 20

func prepareWAL(spec Spec, path string) (*walRun, error) {
	f, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
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
	const commit, write, sync = 0, 1, 2
	m := newMeter(w.spec.Runtime, onSample, w.hang, "commit", "write", "sync")
	m.step(m.start, 1<<commit|1<<write)
	for i, now := 0, m.start; w.more(i, m.done(now)); i++ {
		if w.at+w.spec.BS > segment {
			w.at = 0
		}
		if err := w.f.writeAt(w.record, w.at); err != nil {
			return nil, m.partial(fmt.Errorf("commit %d: %w", i+1, err))
		}
		w.at += w.spec.BS
		m.step(time.Now(), 1<<sync, ended{write, w.spec.BS})
		if err := w.f.datasync(); err != nil {
			return nil, m.partial(fmt.Errorf("commit %d: %w", i+1, err))
		}
		now = time.Now()
		m.step(now, 1<<commit|1<<write, ended{sync, 0}, ended{commit, w.spec.BS})
		if ctx.Err() != nil {
			return nil, m.cancelled(ctx)
		}
	}
	return m.finish(), nil
}

// OnHang implements Hanger.
func (w *walRun) OnHang(tell func(*Result)) { w.hang = tell }

// more reports whether another commit is due.
func (w *walRun) more(done int, over bool) bool {
	return !over && (w.spec.Count == 0 || done < w.spec.Count)
}

// Close implements Runner.
func (w *walRun) Close() error {
	w.f.close()
	return removeIfThere(w.path)
}
