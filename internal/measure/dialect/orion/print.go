package orion

import (
	"fmt"
	"math/bits"
	"strings"

	"plimsoll/hist"
)

// version is that of the Orion whose lines are printed. The layout of the tables and the
// head of the summary are those of 11.1, whose files are published in full, except where those of 12 are known; see docs/reference/orion.md.
const version = "12.2.0.1.0"

// banner is what Orion prints before it measures.
func (t *Test) banner(stamp string) string {
	return fmt.Sprintf("ORION: ORacle IO Numbers -- Version %s\n%s_%s\nCalibration will take approximately %d minutes.\nUsing a large value for -cache_size may take longer.\n\n",
		version, t.Name, stamp, t.minutes())
}

// at names a load point as Orion does.
func (p Load) at() string { return fmt.Sprintf("@ Small=%d and Large=%d", p.Small, p.Large) }

// maxima are the lines with which Orion ends, on the terminal and in the summary.
func maxima(all []measured) string {
	var b strings.Builder
	top := newBest(all)
	if top.mbps >= 0 {
		m := all[top.mbps]
		fmt.Fprintf(&b, "Maximum Large MBPS=%.2f %s\n\n", m.large.mbps(), m.at())
	}
	if top.iops >= 0 {
		m := all[top.iops]
		fmt.Fprintf(&b, "Maximum Small IOPS=%.0f %s\n", m.small.iops(), m.at())
		b.WriteString(m.latencies() + "\n")
	}
	if top.latency >= 0 {
		m := all[top.latency]
		fmt.Fprintf(&b, "Minimum Small Latency=%.3f usecs %s\n", m.small.latency(), m.at())
		b.WriteString(m.latencies())
		b.WriteString(histogram("Small", m.Load, m.small))
	}
	return b.String()
}

// latencies are the lines of the small reads and the small writes, those that there are.
func (m measured) latencies() string {
	var b strings.Builder
	for _, k := range []struct {
		name string
		h    *hist.Histogram
	}{{"Read", m.small.read}, {"Write", m.small.write}} {
		if k.h.Count() > 0 {
			fmt.Fprintf(&b, "Small %s Latency: avg=%.3f us, min=%.3f us, max=%.3f us, std dev=%.3f us %s\n",
				k.name, k.h.Mean()/1000, float64(k.h.Min())/1000, float64(k.h.Max())/1000, k.h.StdDev()/1000, m.at())
		}
	}
	return b.String()
}

// Buckets of Orion's histogram: up to 32 us, then powers of two up to 2^28 us.
const (
	firstEdge = 5 // 2^5 us
	lastEdge  = 28
	buckets   = lastEdge - firstEdge + 1
)

// edge is the upper end of bucket i in microseconds.
func edge(i int) uint64 { return 1 << (firstEdge + i) }

// bucketed counts a histogram in Orion's buckets. Its own buckets are 1.6 % wide, so that what is that near to an
// edge may be counted on its other side.
func bucketed(h *hist.Histogram) (n [buckets]uint64) {
	for i, count := range h.All() {
		us := hist.Value(i) / 1000
		n[max(bits.Len64(us)-firstEdge, 0)] += count
	}
	return n
}

// histogram is a table as Orion prints it: from the bucket below the first that holds
// something up to the one behind the last; the share is that of all I/Os up to there.
func histogram(what string, p Load, s side) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s Read / Write Latency Histogram %s\n", what, p.at())
	fmt.Fprintf(&b, "        Latency:                         # of IOs (read)          # of IOs (write)\n")
	reads, writes := bucketed(s.read), bucketed(s.write)
	first, last := buckets, -1
	for i := range buckets {
		if reads[i]+writes[i] > 0 {
			first, last = min(first, i), i
		}
	}
	var sumR, sumW uint64
	row := func(from, to, r, w uint64) {
		sumR, sumW = sumR+r, sumW+w
		fmt.Fprintf(&b, "%9d - %-10d us:%16d (%6.2f%%)%15d (%6.2f%%)\n", from, to, r, share(sumR, s.read.Count()), w, share(sumW, s.write.Count()))
	}
	from := uint64(0)
	if first > 0 && first < buckets {
		from = edge(first - 1)
		row(0, from, 0, 0)
	}
	for i := first; i <= last; i++ {
		row(from, edge(i), reads[i], writes[i])
		from = edge(i)
	}
	// The last bucket is always empty: a Histogram doesn't tell times over 17 s apart.
	row(from, edge(buckets-1), 0, 0)
	return b.String()
}

// share is a percentage, 0 of nothing.
func share(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}
