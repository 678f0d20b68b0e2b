package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/load"
)

// A VerifyState is how much of a trial's data was checked (load.Job.Verify) and found correct. Wrong data ends the trial
// with a load.VerifyError.
type VerifyState struct {
	// Bytes is how many were checked: those of the measured reads, or all written bytes, read back afterwards.
	Bytes int64 `json:"bytes"`
	// Took is how long reading back took, outside of the measured window.
	Took time.Duration `json:"took,omitempty"`
}

// seal stamps the whole region of a job that reads and verifies, since Layout doesn't. It is part of preparing.
func (b *blockRun) seal(ctx context.Context) error {
	j := b.job.WithDefaults()
	if !j.Verify || !j.Reads() {
		return nil
	}
	// Small I/Os, so that no part of the region is left without a stamp; the page cache gathers them.
	run, err := load.Prepare(load.Job{
		RW: load.Write, BS: j.VerifyUnit(), Offset: j.Offset, Size: j.Size, Filename: j.Filename,
		IOEngine: load.PSync, Verify: true, RandSeed: j.RandSeed, EndFsync: true,
	})
	if err != nil {
		return fmt.Errorf("stamp the file: %w", err)
	}
	_, err = run.Start(ctx, nil)
	if err = errors.Join(err, run.Close()); err != nil {
		return fmt.Errorf("stamp the file: %w", err)
	}
	return dropped(j) // As Layout does.
}

// dropped drops the job's file from the page cache.
func dropped(j load.Job) error {
	s := StageJob{Name: "verify", Job: j, Invalidate: true}
	return s.invalidate()
}

// readBack checks what the job wrote, past the page cache.
func (b *blockRun) readBack(ctx context.Context, r *Result) error {
	j := b.run.Job()
	if !j.Verify {
		return nil
	}
	if !j.Writes() {
		r.Verified.Bytes, _ = r.Bytes()
		return nil
	}
	j = load.Job{
		RW: load.Read, BS: j.BS, IODepth: j.IODepth, Offset: j.Offset, Size: j.Size, Filename: j.Filename,
		Direct: j.Direct, IOEngine: j.IOEngine, Verify: true, RandSeed: j.RandSeed,
	}
	if err := dropped(j); err != nil {
		return err
	}
	run, err := load.Prepare(j)
	if err != nil {
		return err
	}
	begin := time.Now()
	l, err := run.Start(ctx, nil)
	if err = errors.Join(err, run.Close()); err != nil {
		return err
	}
	r.Verified = VerifyState{Bytes: l.Class("read").Bytes, Took: time.Since(begin)}
	return nil
}
