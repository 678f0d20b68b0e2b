package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// preRead reads the job's region through the page cache, so that it is there when the job starts.
func (j *StageJob) preRead(ctx context.Context) error {
	if !j.PreRead {
		return nil
	}
	for _, p := range j.paths() {
		f, err := os.Open(p) // The open file may use direct I/O, which bypasses the cache.
		if err == nil {
			err = j.readThrough(ctx, f)
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("job %s: read its files before the start: %w", j.Name, err)
		}
	}
	return nil
}

// readThrough reads the job's region in f, or what there is of it.
func (j *StageJob) readThrough(ctx context.Context, f *os.File) error {
	buf := make([]byte, 1<<20)
	end := int64(math.MaxInt64)
	if j.Job.Size > 0 {
		end = j.Job.Offset + j.Job.Size
	}
	for at := j.Job.Offset; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), end-at)], at)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
