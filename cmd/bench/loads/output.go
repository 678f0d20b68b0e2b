package loads

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/dialect/fio"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/goal"
	"plimsoll/load"
)

// The tools that read a run's figures, and the most time that each may take.
const (
	mergedClients = 1000
	mostMerge     = 10 * time.Millisecond
	// printedJobs have reads, writes and syncs each.
	printedJobs   = 8
	mostJSONPlus  = 50 * time.Millisecond
	fullHistogram = 1 << 33 // ns: latencies up to some 8 s
)

// full is a histogram with something in each of its buckets up to fullHistogram: no run has more.
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

// A played is a session in which every job has come to a full run already, so that what remains of plimsoll fio
// is its output.
type played struct{ result workload.Result }

// Path implements dialect.Session.
func (p *played) Path(name string) string { return name }

// Stage implements dialect.Session.
func (p *played) Stage(context.Context, string, []workload.StageJob, func(load.Sample)) (*workload.Result, error) {
	return &p.result, nil
}

// measureJSONPlus returns how long plimsoll fio takes for the output of a run in JSON+, and the output's bytes.
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

// A duty is work on a run's figures that may take so long.
type duty struct {
	name string
	most time.Duration
	took []time.Duration
}

// duties measures each of them that often.
func duties(ctx context.Context, rounds int, stderr io.Writer) ([]duty, error) {
	merge := duty{name: fmt.Sprintf("histograms of %d clients, merged", mergedClients), most: mostMerge}
	print := duty{most: mostJSONPlus}
	for range rounds {
		took, err := measureMerge()
		if err != nil {
			return nil, err
		}
		merge.took = append(merge.took, took)
		took, bytes, err := measureJSONPlus(ctx, stderr)
		if err != nil {
			return nil, err
		}
		print.name = fmt.Sprintf("JSON+ of a run of %d jobs, %.1f MB", printedJobs, float64(bytes)/1e6)
		print.took = append(print.took, took)
	}
	return []duty{merge, print}, nil
}

// dutyTable prints the medians.
func dutyTable(stdout io.Writer, all []duty) error {
	fmt.Fprint(stdout, "\nAfter the I/O, with a value in every bucket of the histograms:\n\n")
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tms [min..max]\ttarget\t")
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	for _, d := range all {
		var v []float64
		for _, t := range d.took {
			v = append(v, ms(t))
		}
		mid := median(v)
		fmt.Fprintf(w, "%s\t%.1f [%.1f..%.1f]\t<= %g\t%s\n", d.name, mid, slices.Min(v), slices.Max(v), ms(d.most), goal.Verdict(mid <= ms(d.most)))
	}
	return w.Flush()
}
