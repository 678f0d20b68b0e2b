package hist

import "math/bits"

// The layout: 29 groups of 64 buckets. See fio's stat.h:
// https://github.com/axboe/fio/blob/fio-3.33/stat.h
const (
	bucketBits = 6
	perGroup   = 1 << bucketBits
	groups     = 29
	// Buckets is the number of buckets.
	Buckets = groups * perGroup
)

// Index returns the bucket of the value v in nanoseconds, 0 to Buckets-1. Values
// of 2^34 and more are in the last one.
func Index(v uint64) int {
	if v < 2*perGroup {
		return int(v)
	}
	e := bits.Len64(v) - 1 - bucketBits
	return min((e+1)<<bucketBits+int(v>>(e&63)&(perGroup-1)), Buckets-1)
}

// Value returns the middle of bucket i in nanoseconds, rounded down, as fio prints it. An i outside the layout counts
// as the nearest bucket.
func Value(i int) uint64 {
	i = min(max(i, 0), Buckets-1)
	if i < 2*perGroup {
		return uint64(i)
	}
	e := i>>bucketBits - 1
	return 1<<(e+bucketBits) + uint64(i&(perGroup-1))<<e + 1<<e>>1
}
