// Package hist keeps latencies in a histogram with fio's bucket layout.
//
// A bucket holds whole nanoseconds. The first 128 buckets are exact; after that
// each doubling of the value is cut into 64 buckets of equal width, so that the
// middle of a bucket is within 1/128 (0.78 %) of every value in it. Values from
// 2^34 ns (17.18 s) up share the last bucket. The layout is that of fio's
// stat.h (FIO_IO_U_PLAT_BITS 6, FIO_IO_U_PLAT_GROUP_NR 29), so that the bins of
// fio's JSON+ output and those kept here are the same.
//
// Histograms are merged by adding them up. Percentiles must never be averaged:
// merge, then ask.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

// A Histogram counts latencies. The zero value is empty and ready to use; methods that only read treat nil as empty. A
// Histogram takes 15 KB and is copied by assignment. Its methods must not be called concurrently if one of the calls
// changes it.
type Histogram struct {
	count uint64
	sum   uint64
	min   uint64 // meaningful if count > 0
	max   uint64
	bins  [Buckets]uint64
}

// Record adds one latency in nanoseconds. A negative one, which only a broken
// clock can give, counts as 0. Record does not allocate.
func (h *Histogram) Record(ns int64) {
	v := uint64(max(ns, 0))
	if h.count == 0 || v < h.min {
		h.min = v
	}
	if v > h.max {
		h.max = v
	}
	h.count++
	h.sum = addSat(h.sum, v)
	h.bins[Index(v)]++
}

// Merge adds the contents of o to h. A nil o is empty.
func (h *Histogram) Merge(o *Histogram) {
	if o.empty() {
		return
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.sum = addSat(h.sum, o.sum)
	// All values of o lie between the buckets of its minimum and maximum.
	lo, hi := Index(o.min), Index(o.max)+1
	add(h.bins[lo:hi], o.bins[lo:hi])
}

// add adds src to dst, four values at a time: Go's compiler doesn't vectorize, and a report merges thousands of
// histograms.
func add(dst, src []uint64) {
	for len(src) >= 4 && len(dst) >= 4 {
		s, d := (*[4]uint64)(src), (*[4]uint64)(dst)
		d[0] += s[0]
		d[1] += s[1]
		d[2] += s[2]
		d[3] += s[3]
		src, dst = src[4:], dst[4:]
	}
	for i, n := range src {
		dst[i] += n
	}
}

// addSat adds, and saturates at the greatest value instead of wrapping. 2^64 ns are 584 years of summed latency, which
// only a broken clock can reach.
func addSat(a, b uint64) uint64 {
	s, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return s
}

// Reset empties h.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count returns the number of recorded latencies.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Min returns the lowest recorded latency in nanoseconds, exactly; 0 if h is empty.
func (h *Histogram) Min() int64 {
	if h.empty() {
		return 0
	}
	return int64(h.min)
}

// Max returns the highest recorded latency in nanoseconds, exactly; 0 if h is empty.
func (h *Histogram) Max() int64 {
	if h.empty() {
		return 0
	}
	return int64(h.max)
}

// Sum returns the sum of the recorded latencies in nanoseconds, exactly up to
// 2^64-1 and never more than that.
func (h *Histogram) Sum() uint64 {
	if h.empty() {
		return 0
	}
	return h.sum
}

// Mean returns the mean latency in nanoseconds, from the exact sum; 0 if h is empty.
func (h *Histogram) Mean() float64 {
	if h.empty() {
		return 0
	}
	return float64(h.sum) / float64(h.count)
}

// StdDev returns the standard deviation of the population in nanoseconds, 0 for
// fewer than two values. It is computed from the buckets, so each value is off
// by up to 0.78 %.
func (h *Histogram) StdDev() float64 {
	if h.empty() || h.count < 2 {
		return 0
	}
	// The mean of the buckets, not the exact one: the two differ, and mixing
	// them would add their difference to the deviation.
	var sum float64
	for i, n := range h.All() {
		sum += float64(h.value(i)) * float64(n)
	}
	mean := sum / float64(h.count)
	var sq float64
	for i, n := range h.All() {
		d := float64(h.value(i)) - mean
		sq += d * d * float64(n)
	}
	return math.Sqrt(sq / float64(h.count))
}

// Percentile returns the latency in nanoseconds below which p percent of the values lie. Like fio it returns the middle
// of the first bucket at which the count reaches that share, but never less than Min or more than Max. p below 0 counts
// as 0, above 100 as 100; NaN and an empty histogram give 0.
func (h *Histogram) Percentile(p float64) int64 {
	if h.empty() || math.IsNaN(p) {
		return 0
	}
	if p <= 0 {
		return h.Min()
	}
	if p >= 100 {
		return h.Max()
	}
	need := p / 100 * float64(h.count)
	var seen uint64
	for i, n := range h.All() {
		seen += n
		if float64(seen) >= need {
			return int64(h.value(i))
		}
	}
	return h.Max()
}

// value returns the middle of bucket i, limited to the range of the recorded values.
func (h *Histogram) value(i int) uint64 {
	return min(max(Value(i), h.min), h.max)
}

// All returns the non-empty buckets, in rising order, as index and count.
func (h *Histogram) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		if h.empty() {
			return
		}
		for i := Index(h.min); i <= Index(h.max); i++ {
			if n := h.bins[i]; n != 0 && !yield(i, n) {
				return
			}
		}
	}
}

// Equal reports whether h and o have the same contents. A nil histogram equals an empty one.
func (h *Histogram) Equal(o *Histogram) bool {
	if h == nil || o == nil {
		return h.empty() && o.empty()
	}
	if h.count == 0 || o.count == 0 {
		return h.count == o.count
	}
	return *h == *o
}

func (h *Histogram) empty() bool { return h == nil || h.count == 0 }

// RecordN adds n latencies of ns nanoseconds each.
func (h *Histogram) RecordN(ns int64, n uint64) {
	if n == 0 {
		return
	}
	v := uint64(max(ns, 0))
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count += n
	h.sum = addSat(h.sum, mulSat(v, n))
	h.bins[Index(v)] += n
}
