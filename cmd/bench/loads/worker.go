package loads

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// maxRSS is the maximum memory of a worker at a depth of 32, in bytes.
const maxRSS = 32 << 20

// workerJob returns the job for measuring the worker's memory: reads and writes, because both have buffers, at the
// depth that the limit is for.
func workerJob(o options) load.Job {
	return load.Job{RW: load.RandRW, BS: 4096, IODepth: 32, Size: 8 << 20, Runtime: o.runtime}
}

// workerMemory runs job in the worker that plimsoll carries, on the host, and returns its peak memory in bytes: its
// agent's and that of the trial's process. This program's own memory would show nothing, because it is a different
// program.
func workerMemory(ctx context.Context, dir string, source engine.WorkerSource, job load.Job) (peak int64, err error) {
	state, err := os.MkdirTemp(dir, "plimsoll-bench-worker-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(state)
	s, err := host.New(state, source).Open(ctx, engine.Spec{ID: "bench-load-" + strconv.Itoa(os.Getpid()), Place: place.Spec{Kind: place.Dir}})
	if err != nil {
		return 0, err
	}
	defer s.Close(context.WithoutCancel(ctx))
	a, err := agent.Open(ctx, s)
	if err != nil {
		return 0, err
	}
	if err := a.Prepare(ctx, "1", workload.Spec{Name: "memory", Kind: workload.Block, Job: job}); err != nil {
		return 0, err
	}
	if err := a.Start("1"); err != nil {
		return 0, err
	}
	res, err := a.Wait(ctx, "1", nil)
	if err != nil {
		return 0, err
	}
	if res.Ops() == 0 || res.Usage.MaxRSS <= 0 {
		return 0, fmt.Errorf("the worker did %d I/Os and says that it took %d bytes", res.Ops(), res.Usage.MaxRSS)
	}
	return res.Usage.MaxRSS + peakOf(a.Info().PID), nil
}

// peakOf returns the peak memory of a living process, in bytes; 0 if the system doesn't report it.
func peakOf(pid int) int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	kb, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// measureWorker measures the worker that is embedded in plimsoll.
func measureWorker(ctx context.Context, dir string, o options) (float64, error) {
	peak, err := workerMemory(ctx, dir, workerbin.Bytes, workerJob(o))
	return float64(peak), err
}
