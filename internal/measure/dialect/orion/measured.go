package orion

import (
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/workload"
)

// A side is the measurements of the small or of the large I/Os of a data point.
type side struct {
	ops, bytes int64
	elapsed    time.Duration
	// read, write and both are the latencies of reads, of writes and of all; never nil.
	read, write, both *hist.Histogram
}

// A measured is one data point.
type measured struct {
	Load
	small, large side
	engine       string
}

// newSide returns a side without I/Os.
func newSide() side {
	return side{read: new(hist.Histogram), write: new(hist.Histogram), both: new(hist.Histogram)}
}

// newMeasured collects the results of a point's jobs.
func newMeasured(p Load, r *workload.Result) measured {
	m := measured{Load: p, small: newSide(), large: newSide()}
	for _, j := range r.Stage {
		s := &m.large
		if j.Name == smallJob {
			s = &m.small
		}
		s.elapsed = max(s.elapsed, j.Elapsed)
		m.engine = j.Engine
		for _, c := range j.Classes {
			to := s.read
			switch c.Name {
			case "read":
			case "write":
				to = s.write
			default:
				continue
			}
			s.ops, s.bytes = s.ops+c.Ops, s.bytes+c.Bytes
			if c.Lat != nil {
				to.Merge(c.Lat)
				s.both.Merge(c.Lat)
			}
		}
	}
	return m
}

// iops is the number of I/Os per second.
func (s side) iops() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(s.ops) / s.elapsed.Seconds()
}

// mbps is the throughput in MB/s. Orion calls a large I/O of 1024 KB 1 MB, so its MB are taken to be 2^20 bytes.
func (s side) mbps() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(s.bytes) / (1 << 20) / s.elapsed.Seconds()
}

// latency is the average in microseconds, of reads and writes.
func (s side) latency() float64 { return s.both.Mean() / 1000 }

// best are the indexes of the points that the summary names; -1: none.
type best struct{ mbps, iops, latency int }

// newBest finds the extremes. Of equal points the first wins.
func newBest(all []measured) best {
	b := best{-1, -1, -1}
	for i, m := range all {
		if m.Large > 0 && (b.mbps < 0 || m.large.mbps() > all[b.mbps].large.mbps()) {
			b.mbps = i
		}
		if m.Small > 0 && (b.iops < 0 || m.small.iops() > all[b.iops].small.iops()) {
			b.iops = i
		}
		if m.Small > 0 && m.small.ops > 0 && (b.latency < 0 || m.small.latency() < all[b.latency].small.latency()) {
			b.latency = i
		}
	}
	return b
}
