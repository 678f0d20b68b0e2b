// Package durability finds out whether storage keeps what it was given: it writes stamped blocks, and
// reads them back, in the same run or after a kill, a crash or a power cut.
//
// Each block is written once, in a random order that is known from the seed, and after every few
// writes the file is synced. A journal, which should be kept elsewhere, notes how many
// writes each sync covered. Every block that the journal counts has to be there and whole
// afterwards, whatever happened; those after it may be there or not.
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

// Options say what is written.
type Options struct {
	// Path is the file, which has to have Size bytes. File, if not nil, is that file as its caller has looked at it: no other one
	// is written.
	Path string
	File *os.File
	// Size is in bytes, a multiple of BS (default 4096). Depth (default 1) is how many writes
	// are in flight; Every (default 32) is after how many writes the file is synced.
	Size  int64
	BS    int64
	Depth int
	Every int
	// Direct asks for O_DIRECT, Engine for an I/O engine; empty: the strongest but psync with a depth.
	Direct bool
	Engine string
	// Seed makes the order; 0: by time. Rate bounds the writes a second; 0: no bound.
	Seed uint64
	Rate int64
	// Journal gets a line for each sync. nil: none.
	Journal io.Writer
}

// head is the journal's first line.
type head struct {
	// Format is 1.
	Format int      `json:"plimsoll_verify"`
	Job    load.Job `json:"job"`
}

// line is another: how many writes are on stable storage.
type line struct {
	Flushed int64 `json:"flushed"`
}

// Check reports what is wrong with the options, before a file is made for them.
func (o Options) Check() error {
	j, err := o.job()
	if err == nil {
		err = j.Validate()
	}
	return err
}

// Write writes the file once. It returns how many blocks were written and synced, also with
// an error: as far as it got.
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
		// end_fsync covers the rest.
		flushed = res.Class("write").Ops
		note(line{flushed})
	}
	mu.Lock()
	defer mu.Unlock()
	return flushed, errors.Join(err, rerr)
}

// job is what the options ask for.
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

// A Fault is a block that is not what it should be.
type Fault struct {
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	// Write is the number of the write that should be there.
	Write int64 `json:"write"`
	// Found describes the data that is there instead.
	Found string `json:"found"`
}

// A Report is what Check found.
type Report struct {
	Path string `json:"path"`
	// Blocks of BS bytes were to be written, Flushed of them were acknowledged and synced, and
	// Later are there beyond those.
	BS      int64 `json:"bs"`
	Blocks  int64 `json:"blocks"`
	Flushed int64 `json:"flushed"`
	Later   int64 `json:"later"`
	// Bad counts the flushed blocks that are not there or not whole; Faults holds the first of them.
	Bad    int64   `json:"bad"`
	Faults []Fault `json:"faults,omitempty"`
}

// maxFaults bounds Report.Faults.
const maxFaults = 100

// Check reads the file at path (empty: the journal's) and compares it with the journal. Its
// error says that it could not look; what is wrong with the data is in the Report.
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
	// Data that was read before proves nothing of the disk.
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
