package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/device"
	"plimsoll/internal/goal"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/target"
)

// idleTarget is how much of one processor a keeper with 1,000 groups may take while nothing happens.
const idleTarget = 0.005

// keep measures a keeper that holds the groups to a policy.
func keep(ctx context.Context, out io.Writer, p *place, rounds int, idle time.Duration, judged bool) error {
	dir, err := os.MkdirTemp(memory(), "plimsoll-limitbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	policy := filepath.Join(dir, "policy.yaml")
	text := fmt.Sprintf("rules:\n- match: all\n  where: {device: %s}\n  limits: {read_bps: 100MiB, write_bps: 50MiB, read_iops: 5000, write_iops: 2000}\n", p.node)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return err
	}
	look, err := explain.Look(device.Host())
	if err != nil {
		return err
	}
	finder := target.New(target.Options{})
	defer finder.Close()
	h := &hold.Holder{FS: device.Host(), Finder: finder, Groups: p.host, Explain: look}
	k, err := keeper.New(keeper.Options{Holder: h, Policy: policy, Run: dir, ClearOnStop: true})
	if err != nil {
		return err
	}
	defer k.Close()
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- k.Run(runCtx) }()

	began := time.Now()
	for _, path := range p.paths {
		k.Started(target.Target{Kind: target.Cgroup, Name: path, Running: true})
	}
	want := int64(len(p.paths) * map[int]int{1: 4, 2: 1}[h.Explain.IO])
	for k.Status().Writes < want {
		select {
		case <-time.After(10 * time.Millisecond):
		case err := <-ended:
			return fmt.Errorf("the keeper ended: %w", err)
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("the keeper has written %d times in a minute, want %d", k.Status().Writes, want)
		}
	}
	first := sample{times: []time.Duration{time.Since(began)}, writes: int(k.Status().Writes)}
	first.row(out, p.name+", keeper, all started at once", 1, applyTarget, judged)

	// What its own writes told it of has been looked at by then.
	time.Sleep(min(idle, 2*time.Second))
	var same sample
	for range rounds {
		t := k.Check()
		same.times, same.writes = append(same.times, t.Took), same.writes+t.Writes
	}
	if same.writes != 0 {
		return fmt.Errorf("the keeper wrote %d times where nothing differed", same.writes)
	}
	same.row(out, p.name+", keeper, nothing to do", rounds, reconcileTarget, judged)

	used, err := cpu(ctx, idle)
	if err != nil {
		return err
	}
	result := "-"
	if judged && idle >= 2*keeper.DefaultCheck {
		result = goal.Verdict(used <= idleTarget)
	}
	fmt.Fprintf(out, "%s, keeper, idle for %v\t%.2f %% of a core\t\t%d\t<= %g %%\t%s\n", p.name, idle, 100*used, int(k.Status().Writes)-first.writes, 100*idleTarget, result)
	stop()
	return <-ended
}

// cpu is how much of one processor this process takes during d.
func cpu(ctx context.Context, d time.Duration) (float64, error) {
	before, err := processTime()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := processTime()
	return float64(after-before) / float64(time.Since(began)), err
}

// processTime is the processor time of this process.
func processTime() (time.Duration, error) {
	var r unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}
