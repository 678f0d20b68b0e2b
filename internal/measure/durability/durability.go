// Package durability finds out whether storage keeps what it was given. It writes stamped blocks and reads them back,
// in the same run or after a kill, a crash or a power cut.
//
// Each block is written once, in a random order that the seed determines, and after every few writes the file is
// synced. A journal, which should be kept elsewhere, records how many writes each sync covered. Whatever happened,
// every block that the journal counts must be there afterwards and be whole; later blocks may or may not be there.
package durability

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"plimsoll/load"
)

// Options say what to write.
type Options struct {
	// Path is the file, whose size must be Size bytes. File, if not nil, is that file as its caller has checked it: no
	// other file is written.
	Path string
	File *os.File
	// Size is in bytes, a multiple of BS (default 4096). Depth (default 1) is the number of writes in flight. Every
	// (default 32) is the number of writes after which the file is synced.
	Size  int64
	BS    int64
	Depth int
	Every int
	// Direct asks for O_DIRECT. Engine is the I/O engine; empty: the strongest except psync with a depth.
	Direct bool
	Engine string
	// Seed determines the order; 0: a seed from the time. Rate is the maximum number of writes per second; 0: no
	// maximum.
	Seed uint64
	Rate int64
	// Journal receives a line for each sync. nil: none.
	Journal io.Writer
}

// head is the journal's first line.
type head struct {
	// Format is 1.
	Format int      `json:"plimsoll_verify"`
	Job    load.Job `json:"job"`
}

// line is any other line: how many writes are on stable storage.
type line struct {
	Flushed int64 `json:"flushed"`
}

// Check reports what is wrong with the options, before a file is created for them.
func (o Options) Check() error {
	j, err := o.job()
	if err == nil {
		err = j.Validate()
	}
	return err
}

// Write writes the file once. It returns how many blocks were written and synced, on an error too.
func Write(ctx context.Context, o Options) (flushed int64, err error) {
	j, err := o.job()
	if err != nil {
		return 0, err
	}
	run, err := load.PrepareFiles(j, []*os.File{o.File})
	if err != nil {
		return 0, err
	}
	defer run.Close()
	j = run.Job()
	var mu sync.Mutex
	note := func(v any) {
		if o.Journal == nil {
			return
		}
		p, merr := json.Marshal(v)
		if merr == nil {
			_, merr = o.Journal.Write(append(p, '\n'))
		}
		if merr != nil {
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, fmt.Errorf("journal: %w", merr))
		}
	}
	note(head{1, j})
	if err != nil {
		return 0, err
	}
	run.OnSync = func(_ int, writes int64) {
		flushed = writes
		note(line{writes})
	}
	res, rerr := run.Start(ctx, nil)
	if rerr == nil {
		// end_fsync covers the remaining writes.
		flushed = res.Class("write").Ops
		note(line{flushed})
	}
	mu.Lock()
	defer mu.Unlock()
	return flushed, errors.Join(err, rerr)
}

// job returns the job that the options ask for.
func (o Options) job() (load.Job, error) {
	j := load.Job{
		RW: load.RandWrite, BS: o.BS, IODepth: max(o.Depth, 1), Filename: o.Path, Size: o.Size, Direct: o.Direct, IOEngine: o.Engine,
		FDataSync: o.Every, EndFsync: true, RandSeed: o.Seed, RateIOPS: o.Rate, Verify: true,
	}
	if j.BS == 0 {
		j.BS = 4096
	}
	if j.FDataSync == 0 {
		j.FDataSync = 32
	}
	if j.RandSeed == 0 {
		j.RandSeed = uint64(time.Now().UnixNano()) | 1
	}
	if j.Size <= 0 || j.Size%j.BS != 0 {
		return j, fmt.Errorf("size %d is not a multiple of the block of %d bytes", j.Size, j.BS)
	}
	if j.IODepth > 1 && (j.IOEngine == "" || j.IOEngine == load.PSync) {
		// psync's threads would share the order.
		if j.IOEngine == load.PSync {
			return j, errors.New("psync has no depth here; leave one of the two out")
		}
		j.IOEngine = load.IOUring
	}
	if j.IOEngine == "" {
		j.IOEngine = load.PSync
	}
	return j, nil
}

// A Fault is a wrong block.
type Fault struct {
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	// Write is the number of the write that should be there.
	Write int64 `json:"write"`
	// Found describes the data found instead.
	Found string `json:"found"`
}

// A Report is the result of Check.
type Report struct {
	Path string `json:"path"`
	// Blocks is the number of blocks of BS bytes that were to be written. Flushed is how many of them were acknowledged
	// and synced, Later how many exist beyond those.
	BS      int64 `json:"bs"`
	Blocks  int64 `json:"blocks"`
	Flushed int64 `json:"flushed"`
	Later   int64 `json:"later"`
	// Bad counts the flushed blocks that are missing or not whole; Faults holds the first of them.
	Bad    int64   `json:"bad"`
	Faults []Fault `json:"faults,omitempty"`
}

// maxFaults bounds Report.Faults.
const maxFaults = 100

// Check reads the file at path (empty: the journal's) and compares it with the journal. Its error says that it could
// not look; faults of the data are in the Report.
func Check(ctx context.Context, journal io.Reader, path string) (*Report, error) {
	j, flushed, err := readJournal(journal)
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = j.Filename
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Data that was read before the check proves nothing about the disk.
	dropCache(f)
	r := &Report{Path: path, BS: j.BS, Blocks: j.Size / j.BS, Flushed: flushed}
	p := make([]byte, j.BS)
	for w := range j.Recall(0, j.Size) {
		if w.Number > r.Blocks {
			break
		}
		if w.Number%1024 == 0 && ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		found := ""
		if n, err := f.ReadAt(p, w.Offset); n < len(p) {
			found = fmt.Sprintf("only %d bytes can be read: %v", n, err)
		} else if is, what := j.Look(p, w.Offset); what != "" {
			found = what
		} else if is.Number != w.Number {
			found = fmt.Sprintf("write %d", is.Number)
		}
		switch {
		case w.Number > flushed && found == "":
			r.Later++
		case w.Number <= flushed && found != "":
			r.Bad++
			if len(r.Faults) < maxFaults {
				r.Faults = append(r.Faults, Fault{w.Offset, w.Size, w.Number, found})
			}
		}
	}
	return r, nil
}
