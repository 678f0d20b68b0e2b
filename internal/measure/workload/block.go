package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/load"
)

// defaultFile is the size of a block job's file if the plan gives none.
const defaultFile = 256 << 20

// blockRun runs a job of package load.
type blockRun struct {
	run      *load.Run
	job      load.Job
	prepared time.Duration
	touch    float64
	// keeper follows the rounds of a job with a steady state; nil for others.
	keeper *roundKeeper
	// hang receives the result while I/Os of the window are in flight; nil: nothing is reported.
	hang func(*Result)
	// fresh is the path of a file that is made for this trial alone; "" for one that stays.
	fresh string
	// unsettled is Spec.Unsettled.
	unsettled bool
	// refused is the error of O_DIRECT if the job is done without it.
	refused string
}

// prepareBlock lays out the job's file, unless an earlier trial did, and opens it. Jobs with files of the same size share
// one.
func prepareBlock(ctx context.Context, spec Spec, dir string) (*blockRun, error) {
	b := &blockRun{unsettled: spec.Unsettled, job: spec.Job}
	if round := spec.Steady.Round; round > 0 {
		b.job.Round = round
		b.keeper = &roundKeeper{unit: spec.Metric().Unit, end: b.endRun}
	}
	if b.job.Verify && b.job.Reads() && b.job.Filename != "" {
		return nil, fmt.Errorf("verify: this job did not stamp the data in %s, so every check would fail; verify a job that writes there", b.job.Filename)
	}
	if spec.Fresh {
		b.fresh = filepath.Join(dir, "fresh.dat")
		b.job.Filename = b.fresh
		if err := removeIfThere(b.fresh); err != nil {
			return nil, err
		}
		if err := createFresh(b.fresh); err != nil {
			return nil, err
		}
	}
	if b.job.IOEngine != load.Null && b.job.Filename == "" {
		if err := b.layOut(ctx, spec, dir); err != nil {
			return nil, err
		}
	} else if spec.Files > 1 {
		return nil, fmt.Errorf("files: %s is a single file", b.job.Filename)
	}
	run, err := load.Prepare(b.job)
	var refused *load.DirectError
	if errors.As(err, &refused) && inMemory(b.paths()[0]) {
		// A newer kernel would also accept O_DIRECT and do buffered I/O: the measurement is the same.
		b.refused = refused.Err.Error()
		buffered := b.job
		buffered.Direct = false
		run, err = load.Prepare(buffered)
	}
	if err != nil {
		return nil, err
	}
	b.run = run
	return b, nil
}

// layOut makes the job's files in dir, except those that an earlier trial made.
func (b *blockRun) layOut(ctx context.Context, spec Spec, dir string) error {
	begin, made, took := time.Now(), int64(0), time.Duration(0)
	var paths []string
	for i, name := range spec.names() {
		path := filepath.Join(dir, name)
		l, err := load.Layout(ctx, path, spec.fileSize(), load.LayoutOptions{Reuse: true, Seed: b.job.RandSeed + uint64(i)})
		if err != nil {
			return err
		}
		if !l.Reused {
			made, took = made+spec.fileSize(), took+l.Elapsed
		}
		paths = append(paths, path)
	}
	if b.job.Filename = paths[0]; len(paths) > 1 {
		b.job.Filename, b.job.Files = "", paths
	}
	if err := b.seal(ctx); err != nil {
		return err
	}
	b.prepared = time.Since(begin)
	if took > 0 {
		b.touch = float64(made) / took.Seconds()
	}
	return nil
}

// paths are the job's files; the null engine has none.
func (b *blockRun) paths() []string {
	switch {
	case len(b.job.Files) > 0:
		return b.job.Files
	case b.job.Filename != "":
		return []string{b.job.Filename}
	}
	return nil
}

// Run implements Runner.
func (b *blockRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	r := &Result{}
	b.follow(r)
	if b.hang != nil {
		b.run.OnHang = func(l *load.Result) {
			h := *r
			if b.fill(&h, l) == nil {
				h.File = b.unknownFile() // Examining a file may hang, too.
				b.hang(&h)
			}
		}
	}
	l, err := b.run.Start(ctx, onSample)
	if err != nil {
		return nil, partial(l, err)
	}
	if err := b.fill(r, l); err != nil {
		return nil, partial(l, err)
	}
	if len(b.paths()) > 0 {
		r.File = b.fileState()
	}
	return r, nil
}

// OnHang implements Hanger.
func (b *blockRun) OnHang(tell func(*Result)) { b.hang = tell }

// fill adds the measurements to r, beside the counters.
func (b *blockRun) fill(r *Result, l *load.Result) error {
	r.IOEngine, r.Buffers = l.Engine, l.Buffers
	r.Start, r.Elapsed, r.WallElapsed = l.Start, l.Elapsed, l.WallElapsed
	r.Classes, r.Samples, r.Usage = l.Classes, l.Samples, l.Usage
	r.Notes = slices.Clone(l.Notes)
	r.Late, r.MaxLate, r.Missed, r.Drained = l.Late, l.MaxLate, l.Missed, l.Drained
	r.Prepared = b.prepared
	if b.keeper != nil {
		return b.keeper.fill(r, l)
	}
	return nil
}

// follow makes the job read the counters at both ends of the measured time.
func (b *blockRun) follow(r *Result) {
	if k := b.keeper; k != nil {
		b.run.OnWindow, b.run.OnTurn, b.run.OnRound = k.window, k.turn, k.round
		return
	}
	var win *window
	b.run.OnWindow = func(begin bool) {
		if begin {
			win = openWindow()
		} else if win != nil {
			win.close(r)
		}
	}
}

// endRun ends the job before its time.
func (b *blockRun) endRun() { b.run.End() }

// OnRound implements Judged.
func (b *blockRun) OnRound(tell func(load.Sample)) {
	if b.keeper != nil {
		b.keeper.tell = tell
	}
}

// Finish implements Judged.
func (b *blockRun) Finish(from int) {
	if b.keeper != nil {
		b.keeper.finish(from)
	}
}

// partial adds to an error how far the job got, if it began.
func partial(l *load.Result, err error) error {
	if l == nil {
		return err
	}
	done := load.Sample{At: l.Elapsed}
	for _, c := range l.Classes {
		done.Bytes += c.Bytes
		if c.Name != "sync" {
			done.Ops += c.Ops
		}
	}
	return &PartialError{done, err}
}

// fileState examines the files after the run. With several files, counts are sums and the resident share is the mean.
func (b *blockRun) fileState() FileState {
	s, files := b.unknownFile(), b.paths()
	for n, path := range files {
		i, err := load.Inspect(path, b.job.Offset, b.extent())
		switch {
		case err != nil:
			return b.unknownFile()
		case n == 0:
			s.Size, s.Extents, s.Unwritten, s.Shared, s.Delalloc = i.Size, i.Extents, i.Unwritten, i.Shared, i.Delalloc
			s.DIOAlign, s.Resident = i.DIOAlign, i.Resident
			continue
		}
		s.Size += i.Size
		s.Extents, s.Unwritten = sum(s.Extents, i.Extents), sum(s.Unwritten, i.Unwritten)
		s.Shared, s.Delalloc = sum(s.Shared, i.Shared), sum(s.Delalloc, i.Delalloc)
		s.Resident = sum(s.Resident, i.Resident)
	}
	if s.Resident > 0 {
		s.Resident /= float64(len(files))
	}
	return s
}

// sum is a + b, or -1 (unknown) if one of them is below 0.
func sum[T int | float64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// extent is how many bytes of the file the job's threads use from Offset on, 0 for all.
func (b *blockRun) extent() int64 {
	if b.job.Size == 0 {
		return 0
	}
	return b.job.End() - b.job.Offset
}

// unknownFile is the state of the file as far as it is known without examining it.
func (b *blockRun) unknownFile() FileState {
	return FileState{DirectAsked: b.job.Direct, DirectOpen: b.job.Direct && b.refused == "", DirectError: b.refused, FirstTouch: b.touch, Extents: -1, Unwritten: -1, Shared: -1, Delalloc: -1, DIOAlign: -1, Resident: -1}
}

// Close implements Runner. The file stays for the next trial, unless it is fresh.
func (b *blockRun) Close() error {
	err := b.run.Close()
	if b.fresh != "" {
		err = errors.Join(err, removeIfThere(b.fresh))
	}
	return err
}

// createFresh makes an empty file, and fails if there is one.
func createFresh(path string) error {
	f, err := createNew(path)
	if err != nil {
		return err
	}
	return f.Close()
}
