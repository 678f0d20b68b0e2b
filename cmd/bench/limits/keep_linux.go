package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// idleTarget is the share of one processor that a keeper with 1,000 groups may take while nothing happens.
const idleTarget = 0.005

// listWindow is how long the work after a list of all containers is measured: it ends long before.
const listWindow = 3 * time.Second

// keep measures a keeper that applies a policy to containers. They are containers of a runtime, each with a process, so
// the notifications of their start and end are measured too.
func keep(ctx context.Context, p *place, rounds int, idle time.Duration, small bool) (all []figure.Figure, err error) {
	dir, err := os.MkdirTemp(memory(), "plimsoll-bench-limit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	policy := filepath.Join(dir, "policy.yaml")
	text := fmt.Sprintf("rules:\n- match: all\n  where: {device: %s}\n  limits: {read_bps: 100MiB, write_bps: 50MiB, read_iops: 5000, write_iops: 2000}\n", p.node)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return nil, err
	}
	look, err := explain.Look(device.Host())
	if err != nil {
		return nil, err
	}
	state := filepath.Join(dir, "crun")
	if err := os.Mkdir(state, 0o700); err != nil {
		return nil, err
	}
	finder := target.New(target.Options{Crun: []string{state}})
	defer finder.Close()
	inside, end, err := p.inhabit()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	h := &hold.Holder{FS: device.Host(), Finder: finder, Groups: p.host, Explain: look}
	k, err := keeper.New(keeper.Options{Holder: h, Policy: policy, Run: dir, ClearOnStop: true})
	if err != nil {
		return nil, err
	}
	defer k.Close()
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- k.Run(runCtx) }()

	for !watching(k) {
		select {
		case <-time.After(time.Millisecond):
		case err := <-ended:
			return nil, fmt.Errorf("the keeper ended: %w", err)
		}
	}
	began := time.Now()
	for i, pid := range inside {
		if err := note(state, strconv.Itoa(i), pid); err != nil {
			return nil, err
		}
	}
	want := int64(len(p.paths) * map[int]int{1: 4, 2: 1}[h.Explain.IO])
	for k.Status().Writes < want {
		select {
		// A state of 1,000 containers takes a millisecond of the keeper's time.
		case <-time.After(25 * time.Millisecond):
		case err := <-ended:
			return nil, fmt.Errorf("the keeper ended: %w", err)
		}
		if time.Since(began) > time.Minute {
			return nil, fmt.Errorf("the keeper has written %d times in a minute, want %d", k.Status().Writes, want)
		}
	}
	first := sample{times: []time.Duration{time.Since(began)}, writes: int(k.Status().Writes)}

	// By then the keeper has handled the notifications of its own writes.
	time.Sleep(min(idle, 2*time.Second))
	var same sample
	for range rounds {
		t := k.Check()
		same.times, same.writes = append(same.times, t.Took), same.writes+t.Writes
	}
	if same.writes != 0 {
		return nil, fmt.Errorf("the keeper wrote %d times where nothing differed", same.writes)
	}

	used, err := cpu(ctx, idle)
	if err != nil {
		return nil, err
	}
	// This is what a keeper does whenever it asks for all containers, which is too seldom to wait for.
	list, err := cpuOf(ctx, min(idle, listWindow), func() { k.Sync(ctx) })
	if err != nil {
		return nil, err
	}
	if s := k.Status(); len(s.Containers) != len(inside) || s.Unlisted != "" {
		return nil, fmt.Errorf("%d containers are held, want %d; %s", len(s.Containers), len(inside), s.Unlisted)
	}
	lists := float64(list) / float64(keeper.DefaultSync)
	all = []figure.Figure{
		first.figure(p.name+", keeper, all started at once", 1, applyTarget, small),
		same.figure(p.name+", keeper, nothing to do", rounds, reconcileTarget, small),
		{Name: fmt.Sprintf("%s, keeper, idle for %v", p.name, idle), Ours: []float64{used + lists}, Unit: ofACore,
			Goal: figure.Goal{Op: figure.AtMost, Value: idleTarget}, Unjudged: small || idle < 2*keeper.DefaultCheck,
			Note: fmt.Sprintf("%d writes; %s are lists of all", int(k.Status().Writes)-first.writes, ofACore(lists))},
	}
	stop()
	return all, <-ended
}

// ofACore formats a share of one processor.
func ofACore(share float64) string { return fmt.Sprintf("%.2f %% of a core", 100*share) }

// watching reports whether the keeper watches the runtime's folder.
func watching(k *keeper.Keeper) bool {
	s := k.Status()
	return len(s.Engines) == 1 && s.Engines[0].Connected
}

// inhabit starts a process in each group. end ends them.
func (p *place) inhabit() (pids []int, end func() error, err error) {
	var all []*exec.Cmd
	end = func() error {
		for _, c := range all {
			_ = c.Process.Kill()
		}
		for _, c := range all {
			_ = c.Wait() // Its error says that it was killed.
		}
		return nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	for _, t := range p.targets {
		g, err := t.Group(hierarchy.IO)
		if err != nil {
			return nil, nil, err
		}
		c := exec.Command("sleep", "100000")
		if err := c.Start(); err != nil {
			return nil, nil, err
		}
		all, pids = append(all, c), append(pids, c.Process.Pid)
		if err := os.WriteFile(filepath.Join(g.Dir, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0); err != nil {
			return nil, nil, err
		}
	}
	return pids, end, nil
}

// note records a container as crun does (containers/crun, src/libcrun/status.c). Its id is its group's name.
func note(state, id string, pid int) error {
	ticks, err := procfs.Start("/proc", pid)
	if err != nil {
		return err
	}
	bundle := filepath.Join(state, "..", "bundle", id)
	dir := filepath.Join(state, id)
	if err := errors.Join(os.MkdirAll(bundle, 0o700), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte(`{"ociVersion": "1.0.2", "annotations": {"tier": "gold"}, "linux": {}}`), 0o600); err != nil {
		return err
	}
	text := fmt.Sprintf(`{"pid": %d, "process-start-time": %d, "bundle": %q, "cgroup-path": ""}`, pid, ticks, bundle)
	return os.WriteFile(filepath.Join(dir, "status"), []byte(text), 0o600)
}

// cpuOf returns the processor time of this process while do runs, and for d after its start.
func cpuOf(ctx context.Context, d time.Duration, do func()) (time.Duration, error) {
	before, err := processTime()
	if err != nil {
		return 0, err
	}
	wait := time.NewTimer(d)
	defer wait.Stop()
	do()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := processTime()
	return after - before, err
}

// cpu returns the share of one processor that this process takes during d.
func cpu(ctx context.Context, d time.Duration) (float64, error) {
	began := time.Now()
	used, err := cpuOf(ctx, d, func() {})
	return float64(used) / float64(time.Since(began)), err
}

// processTime returns the processor time of this process.
func processTime() (time.Duration, error) {
	var r unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}
