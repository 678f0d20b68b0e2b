package diskspd

import (
	"math"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Results are what a run's time spans measured, ready to be printed.
type Results struct {
	System System
	Spans  []SpanResult
}

// A SpanResult is what one time span measured.
type SpanResult struct {
	// Elapsed is the measured time.
	Elapsed time.Duration
	CPUs    []workload.CPUDelta
	Threads []ThreadResult
}

// A ThreadResult holds the targets of one thread.
type ThreadResult struct{ Targets []TargetResult }

// A TargetResult is what one thread did on one target.
type TargetResult struct {
	Path        string
	FileSize    uint64
	Read, Write Kind
	// Parts are the target's ranges with a share of the I/Os each, as they are on its size.
	Parts []part
}

// A Kind is what was done of reads or of writes.
type Kind struct {
	Bytes, Ops int64
	Lat        *hist.Histogram
	// Buckets are the I/Os in each whole interval.
	Buckets []bucket
}

// A bucket is an interval of the IOPS series. What a sample saw in two intervals is cut
// in proportion, so that there may be parts of an I/O.
type bucket struct{ ops, lat float64 }

// plus is the sum of two kinds. It changes neither.
func (k Kind) plus(o Kind) Kind {
	sum := Kind{Bytes: k.Bytes + o.Bytes, Ops: k.Ops + o.Ops, Lat: new(hist.Histogram)}
	sum.Lat.Merge(k.Lat)
	sum.Lat.Merge(o.Lat)
	sum.Buckets = make([]bucket, max(len(k.Buckets), len(o.Buckets)))
	for _, all := range [][]bucket{k.Buckets, o.Buckets} {
		for i, b := range all {
			sum.Buckets[i].ops += b.ops
			sum.Buckets[i].lat += b.lat
		}
	}
	return sum
}

// both is reads and writes together.
func (t *TargetResult) both() Kind { return t.Read.plus(t.Write) }

// iopsDeviation is the standard deviation of the population of the intervals' IOPS.
func (k Kind) iopsDeviation(interval time.Duration) float64 {
	n := float64(len(k.Buckets))
	if n == 0 {
		return 0
	}
	mean, squares := 0.0, 0.0
	for _, b := range k.Buckets {
		mean += b.ops / n
	}
	for _, b := range k.Buckets {
		squares += (b.ops - mean) * (b.ops - mean) / n
	}
	return math.Sqrt(squares) / interval.Seconds()
}

// meanLat and latDeviation are milliseconds.
func (k Kind) meanLat() float64 {
	if k.Lat == nil {
		return 0
	}
	return k.Lat.Mean() / 1e6
}

func (k Kind) latDeviation() float64 { return k.Lat.StdDev() / 1e6 }

// percentile is in milliseconds: the least recorded latency up to which p percent of all are, within
// the histogram's 0.78 %.
func (k Kind) percentile(p float64) float64 {
	switch {
	case k.Lat == nil:
		return 0
	case p <= 0:
		return float64(k.Lat.Min()) / 1e6
	case math.Ceil(p/100*float64(k.Lat.Count())) >= float64(k.Lat.Count()):
		// The last one, whose value is known exactly.
		return float64(k.Lat.Max()) / 1e6
	}
	return float64(k.Lat.Percentile(p)) / 1e6
}

// has reports whether there are latencies.
func (k Kind) has() bool { return k.Lat != nil && k.Lat.Count() > 0 }

// spanResult arranges what a stage measured by thread and target.
func (s *Span) spanResult(r *workload.Result) SpanResult {
	out := SpanResult{CPUs: r.CPUs, Elapsed: r.Elapsed}
	if len(r.Stage) > 0 {
		out.Elapsed = r.Stage[0].Elapsed
	}
	if s.Threads > 0 {
		out.Threads = make([]ThreadResult, s.Threads)
	}
	if s.pooled() && len(s.Targets) > 1 {
		s.poolRows(&out, r)
		return out
	}
	for i := range s.Targets {
		t := &s.Targets[i]
		if i >= len(r.Stage) {
			break
		}
		st := &r.Stage[i]
		size := t.FileSize
		if len(st.FileSizes) > 0 {
			size = uint64(st.FileSizes[0])
		}
		for k := range st.Jobs {
			row := s.row(t, size, &st.Jobs[k], out.Elapsed)
			switch {
			case s.Threads == 0:
				out.Threads = append(out.Threads, ThreadResult{[]TargetResult{row}})
			case k < len(out.Threads):
				out.Threads[k].Targets = append(out.Threads[k].Targets, row)
			}
		}
	}
	return out
}

// poolRows fills in what threads did whose I/Os each went to any of the targets: one job, with results by file.
func (s *Span) poolRows(out *SpanResult, r *workload.Result) {
	if len(r.Stage) == 0 {
		return
	}
	st := &r.Stage[0]
	for k := range min(len(st.Jobs), len(out.Threads)) {
		for i, f := range st.Jobs[k].Files {
			if i >= len(s.Targets) {
				break
			}
			size := s.Targets[i].FileSize
			if i < len(st.FileSizes) {
				size = uint64(st.FileSizes[i])
			}
			part := load.JobResult{Classes: f.Classes}
			out.Threads[k].Targets = append(out.Threads[k].Targets, s.row(&s.Targets[i], size, &part, out.Elapsed))
		}
	}
}

// row is what one thread did on one target.
func (s *Span) row(t *Target, size uint64, j *load.JobResult, elapsed time.Duration) TargetResult {
	row := TargetResult{Path: t.Path, FileSize: size, Parts: t.effective(size)}
	for _, c := range j.Classes {
		switch c.Name {
		case "read":
			row.Read = Kind{Bytes: c.Bytes, Ops: c.Ops, Lat: c.Lat}
		case "write":
			row.Write = Kind{Bytes: c.Bytes, Ops: c.Ops, Lat: c.Lat}
		}
	}
	if s.IOPS {
		row.Read.Buckets, row.Write.Buckets = buckets(j.Samples, time.Duration(s.Bucket)*time.Millisecond, elapsed)
	}
	return row
}

// buckets are the whole intervals of a window. A sample is seldom taken at the very edge of one: its I/Os
// are cut in proportion.
func buckets(samples []load.Sample, interval, elapsed time.Duration) (reads, writes []bucket) {
	if interval <= 0 {
		return nil, nil
	}
	n := int(elapsed / interval)
	reads, writes = make([]bucket, n), make([]bucket, n)
	from := time.Duration(0)
	for _, s := range samples {
		length := s.At - from
		for i := int(from / interval); i < n && time.Duration(i)*interval < s.At && length > 0; i++ {
			begin, end := max(time.Duration(i)*interval, from), min(time.Duration(i+1)*interval, s.At)
			share := float64(end-begin) / float64(length)
			reads[i].ops += share * float64(s.Ops-s.WriteOps)
			reads[i].lat += share * float64(s.Lat-s.WriteLat)
			writes[i].ops += share * float64(s.WriteOps)
			writes[i].lat += share * float64(s.WriteLat)
		}
		from = max(from, s.At)
	}
	return reads, writes
}
