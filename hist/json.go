package hist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
)

// MarshalJSON writes h in a sparse form:
//
//	{"n":3,"min":100,"max":260,"sum":460,"bins":[[100,2],[193,1]]}
//
// n is the number of values; min, max and sum are exact nanoseconds; bins holds
// [index, count] of every bucket that isn't empty, by rising index. An empty
// histogram is {"n":0}.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	if h.empty() {
		return []byte(`{"n":0}`), nil
	}
	b := make([]byte, 0, 4096)
	b = strconv.AppendUint(append(b, `{"n":`...), h.count, 10)
	b = strconv.AppendUint(append(b, `,"min":`...), h.min, 10)
	b = strconv.AppendUint(append(b, `,"max":`...), h.max, 10)
	b = strconv.AppendUint(append(b, `,"sum":`...), h.sum, 10)
	b = append(b, `,"bins":[`...)
	first := true
	for i, n := range h.All() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendInt(append(b, '['), int64(i), 10)
		b = strconv.AppendUint(append(b, ','), n, 10)
		b = append(b, ']')
	}
	return append(b, "]}"...), nil
}

// sparse is the JSON form. The counts are unsigned, so that a negative number or
// a fraction is refused by the decoder.
type sparse struct {
	N    *uint64    `json:"n"`
	Min  uint64     `json:"min"`
	Max  uint64     `json:"max"`
	Sum  uint64     `json:"sum"`
	Bins [][]uint64 `json:"bins"`
}

// UnmarshalJSON reads what MarshalJSON writes. It is strict. An unknown or missing key, a bucket out of range or order,
// an empty bucket, or totals that contradict the buckets are errors, and leave h unchanged.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return errors.New("histogram is null; leave the key out where there is none")
	}
	var s sparse
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("histogram: text after its end")
	}
	n, err := s.histogram()
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	*h = *n
	return nil
}

func (s *sparse) histogram() (*Histogram, error) {
	if s.N == nil {
		return nil, errors.New("n is missing")
	}
	h := &Histogram{count: *s.N, min: s.Min, max: s.Max, sum: s.Sum}
	if h.count == 0 {
		if len(s.Bins) != 0 || s.Min != 0 || s.Max != 0 || s.Sum != 0 {
			return nil, errors.New("n is 0 but there are values")
		}
		return h, nil
	}
	if err := s.fill(h); err != nil {
		return nil, err
	}
	return h, h.check()
}

// fill puts the buckets of s into h and compares their sum with n.
func (s *sparse) fill(h *Histogram) error {
	var total uint64
	last := -1
	for k, b := range s.Bins {
		if len(b) != 2 {
			return fmt.Errorf("bins[%d] has %d numbers, want index and count", k, len(b))
		}
		if b[0] >= Buckets {
			return fmt.Errorf("bins[%d]: index %d is over %d", k, b[0], Buckets-1)
		}
		i := int(b[0])
		if i <= last {
			return fmt.Errorf("bins[%d]: index %d comes after %d", k, i, last)
		}
		if b[1] == 0 {
			return fmt.Errorf("bins[%d]: count is 0", k)
		}
		var carry uint64
		if total, carry = bits.Add64(total, b[1], 0); carry != 0 {
			return fmt.Errorf("bins[%d]: the sum of the counts overflows", k)
		}
		h.bins[i] = b[1]
		last = i
	}
	if total != h.count {
		return fmt.Errorf("n is %d but the buckets hold %d", h.count, total)
	}
	return nil
}

// check compares min, max and sum with the buckets.
func (h *Histogram) check() error {
	lo, hi := -1, -1
	for i, n := range h.bins {
		if n == 0 {
			continue
		}
		if lo < 0 {
			lo = i
		}
		hi = i
	}
	if h.min > h.max || h.max > math.MaxInt64 {
		return fmt.Errorf("min %d and max %d are no range of nanoseconds", h.min, h.max)
	}
	if Index(h.min) != lo || Index(h.max) != hi {
		return fmt.Errorf("min %d and max %d are not in the first and last bucket (%d and %d)", h.min, h.max, lo, hi)
	}
	if s := mulSat(h.count, h.min); h.sum < s {
		return fmt.Errorf("sum %d is less than n times min", h.sum)
	}
	if s := mulSat(h.count, h.max); h.sum > s {
		return fmt.Errorf("sum %d is more than n times max", h.sum)
	}
	return nil
}

// mulSat multiplies, and saturates at the greatest value instead of wrapping.
func mulSat(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}
