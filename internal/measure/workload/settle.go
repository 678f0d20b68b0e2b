package workload

import (
	"context"
	"fmt"
	"time"

	"plimsoll/load"
)

// A Settler is a Runner whose buffered writes may not be on the storage when Run returns. The error of a failed write-back
// is reported only to a sync of the same descriptor (fsync(2), "EIO"): without a sync, lost writes would count as done.
type Settler interface {
	Runner
	// Settle waits, outside of the window, until the writes of Run are on the storage, and notes in the result how long
	// that took. It is called once after a Run without an error, before Close. If there is anything to wait for, it calls
	// left, unless nil, at once and then each second with the bytes that the whole machine has yet to write back, -1 if
	// unknown. It doesn't wait after an interrupt.
	Settle(ctx context.Context, r *Result, left func(bytes int64)) error
}

// settleEvery is how often left is called.
const settleEvery = time.Second

var (
	_ Settler = (*blockRun)(nil)
	_ Settler = (*stageRun)(nil)
)

// Settle implements Settler.
func (b *blockRun) Settle(ctx context.Context, r *Result, left func(int64)) error {
	if b.unsettled {
		return nil
	}
	took, err := settle(ctx, b.run, left)
	if err == nil {
		r.Settled = took
		err = b.readBack(ctx, r)
	}
	if err != nil {
		return partial(&load.Result{Elapsed: r.Elapsed, Classes: r.Classes}, err)
	}
	return nil
}

// Settle implements Settler.
func (s *stageRun) Settle(ctx context.Context, r *Result, left func(int64)) error {
	for i, run := range s.runs {
		if run == nil {
			continue
		}
		took, err := settle(ctx, run, left)
		if err != nil {
			return partial(&r.Stage[i].Result, fmt.Errorf("job %s: %w", s.jobs[i].Name, err))
		}
		r.Settled += took
	}
	return nil
}

// settle waits for one job's writes, and returns how long that took: 0 if there was nothing to wait for.
func settle(ctx context.Context, run *load.Run, left func(int64)) (time.Duration, error) {
	if j := run.Job(); !j.Writes() || j.Direct {
		return 0, nil
	}
	begin := time.Now()
	if left == nil {
		left = func(int64) {}
	}
	synced := make(chan error, 1)
	go func() { synced <- run.Sync() }()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		left(Unwritten())
		select {
		case err := <-synced:
			if err != nil {
				return 0, fmt.Errorf("writes that are in the result did not reach the storage: %w", err)
			}
			return time.Since(begin), nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
