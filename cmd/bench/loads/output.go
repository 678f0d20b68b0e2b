package loads

import (
	"context"
	"fmt"
	"io"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/hist"
	"plimsoll/internal/measure/dialect/fio"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// The tools that read a run's figures, and the maximum time of each.
const (
	mergedClients = 1000
	mostMerge     = 10 * time.Millisecond
	// printedJobs is the number of jobs, each with reads, writes and syncs.
	printedJobs   = 8
	mostJSONPlus  = 50 * time.Millisecond
	fullHistogram = 1 << 33 // ns: latencies up to some 8 s
)

// full returns a histogram with an entry in each of its buckets up to fullHistogram; no run has more.
func full() *hist.Histogram {
	h := new(hist.Histogram)
	for v := int64(1); v < fullHistogram; v += v/64 + 1 {
		h.Record(v)
	}
	return h
}

// measureMerge returns how long it takes to merge the histograms of all clients.
func measureMerge() (time.Duration, error) {
	parts := make([]*hist.Histogram, mergedClients)
	for i := range parts {
		parts[i] = full()
	}
	start := time.Now()
	all := new(hist.Histogram)
	for _, p := range parts {
		all.Merge(p)
	}
	took := time.Since(start)
	if want := mergedClients * parts[0].Count(); all.Count() != want {
		return 0, fmt.Errorf("%d values were merged, want %d", all.Count(), want)
	}
	return took, nil
}

// A played is a session in which every job already has its result, so that only the output of plimsoll fio remains to
// be done.
type played struct{ result workload.Result }

// Path implements dialect.Session.
func (p *played) Path(name string) string { return name }

// Stage implements dialect.Session.
func (p *played) Stage(context.Context, string, []workload.StageJob, func(load.Sample)) (*workload.Result, error) {
	return &p.result, nil
}

// measureJSONPlus returns how long plimsoll fio takes for the output of a run in JSON+, and the output's size in bytes.
func measureJSONPlus(ctx context.Context, stderr io.Writer) (time.Duration, int64, error) {
	var p played
	for i := range printedJobs {
		r := workload.StageResult{Name: fmt.Sprint("m", i)}
		r.Elapsed = time.Minute
		for _, class := range []string{"read", "write", "sync"} {
			h := full()
			r.Classes = append(r.Classes, load.Class{Name: class, Ops: int64(h.Count()), Bytes: int64(h.Count()) << 12, Lat: h})
		}
		for n := range 120 {
			r.Samples = append(r.Samples, load.Sample{At: time.Duration(n+1) * time.Second / 2, Ops: 1000, Bytes: 4096000, WriteOps: 500, WriteBytes: 2048000})
		}
		p.result.Stage = append(p.result.Stage, r)
	}
	line := []string{"--name=m", "--rw=randrw", "--size=1m", "--fsync=4", fmt.Sprint("--numjobs=", printedJobs), "--time_based", "--runtime=60", "--output-format=json+"}
	t, err := fio.Parse(line, fio.Source{})
	if err != nil {
		return 0, 0, err
	}
	var out counter
	start := time.Now()
	err = t.Run(ctx, &p, &out, stderr, fio.RunOptions{})
	return time.Since(start), int64(out), err
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// duties returns the time of each tool that works on a run's figures.
func duties(ctx context.Context, rounds int, stderr io.Writer) ([]figure.Figure, error) {
	var merged, printed []time.Duration
	var size int64
	for range rounds {
		took, err := measureMerge()
		if err != nil {
			return nil, err
		}
		merged = append(merged, took)
		if took, size, err = measureJSONPlus(ctx, stderr); err != nil {
			return nil, err
		}
		printed = append(printed, took)
	}
	most := func(d time.Duration) figure.Goal { return figure.Goal{Op: figure.AtMost, Value: float64(d)} }
	return []figure.Figure{
		{Name: fmt.Sprintf("histograms of %d clients, merged", mergedClients), Ours: figure.Times(merged), Unit: figure.Milliseconds, Goal: most(mostMerge)},
		{Name: fmt.Sprintf("JSON+ of a run of %d jobs, %.1f MB", printedJobs, float64(size)/1e6), Ours: figure.Times(printed), Unit: figure.Milliseconds, Goal: most(mostJSONPlus)},
	}, nil
}
