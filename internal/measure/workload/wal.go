package workload

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"plimsoll/load"
)

// walRun commits records to a log that grows to a segment: write, then fdatasync.
type walRun struct {
	spec Spec
	path string
	f    file
	// noise is the data that records are cut from, each BS bytes after the one before; number is that of the next record.
	noise  []byte
	number int64
	// run differs in every run.
	run uint64
	// at is the offset of the next record.
	at   int64
	hang func(*Result)
}

// segment is where the log starts again, over its own old records, as databases recycle theirs: etcd's segments have 64 MB.
// It keeps a log in memory, which grows by a gigabyte a second, from filling it.
const segment = 64 << 20

// walNoise is how many random bytes the records are cut from: eight times the window of btrfs' and ZFS' compressors. Each
// walStamp bytes of a record have a stamp.
const (
	walNoise = 1 << 20
	walStamp = 2048
)

func prepareWAL(spec Spec, path string) (*walRun, error) {
	f, err := openFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	w := &walRun{spec: spec, path: path, f: f, noise: make([]byte, walNoise+spec.BS), run: rand.Uint64()}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], w.run)
	rand.NewChaCha8(seed).Read(w.noise)
	return w, nil
}

// next is the next record. It is unlike all others, in this trial or another: storage that compresses or deduplicates has
// to keep all of it.
func (w *walRun) next() []byte {
	at := w.number * w.spec.BS % walNoise &^ 7
	record := w.noise[at:][:w.spec.BS]
	// Any aligned block of 4 KiB has at least one of the stamps.
	for p := record; len(p) >= 16; p = p[min(walStamp, len(p)):] {
		binary.LittleEndian.PutUint64(p, w.run)
		binary.LittleEndian.PutUint64(p[8:], uint64(w.number))
	}
	w.number++
	return record
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
		if err := w.f.writeAt(w.next(), w.at); err != nil {
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
