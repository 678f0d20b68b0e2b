package load

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
)

// A Range is Size bytes of a file starting at Offset.
type Range struct{ Offset, Size int64 }

// Ranges are parts of a file, in order; no two touch. Because there may be many, they are one string in JSON: the
// base64 of two varints for each range, its distance from the end of the one before, and its size.
type Ranges []Range

// Bytes returns the total size of the ranges.
func (r Ranges) Bytes() (n int64) {
	for _, one := range r {
		n += one.Size
	}
	return n
}

// MarshalJSON implements json.Marshaler.
func (r Ranges) MarshalJSON() ([]byte, error) {
	b := []byte{} // nil would be null.
	var at int64
	for _, one := range r {
		b = binary.AppendUvarint(b, uint64(one.Offset-at))
		b = binary.AppendUvarint(b, uint64(one.Size))
		at = one.Offset + one.Size
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Ranges) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*r = nil
	for at := int64(0); len(b) > 0; {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return errRanges
		}
		size, m := binary.Uvarint(b[n:])
		b = b[n:]
		unread := m <= 0 || size == 0
		tooLarge := max(gap, size) > 1<<62 || at+int64(gap) < 0 || at+int64(gap)+int64(size) < 0
		if unread || tooLarge {
			return errRanges
		}
		b, at = b[m:], at+int64(gap)
		*r = append(*r, Range{at, int64(size)})
		at += int64(size)
	}
	return nil
}

var errRanges = errors.New("no ranges of a file")

// units is a set of the units of a file. It grows as needed.
type units []uint64

// set adds the units in [from, to).
func (u *units) set(from, to int64) {
	for i := from; i < to; i++ {
		for i>>6 >= int64(len(*u)) {
			*u = append(*u, 0)
		}
		(*u)[i>>6] |= 1 << (i & 63)
	}
}

func (u units) clear(from, to int64) {
	for i := from; i < to && i>>6 < int64(len(u)); i++ {
		u[i>>6] &^= 1 << (i & 63)
	}
}

// any reports whether the set has a unit in [from, to).
func (u units) any(from, to int64) bool {
	for i := from; i < to && i>>6 < int64(len(u)); i++ {
		if u[i>>6]>>(i&63)&1 == 1 {
			return true
		}
	}
	return false
}

// or adds the units of o.
func (u *units) or(o units) {
	for len(*u) < len(o) {
		*u = append(*u, 0)
	}
	for i, w := range o {
		(*u)[i] |= w
	}
}

// ranges returns the set as ranges; each unit has size bytes.
func (u units) ranges(size int64) Ranges {
	var all Ranges
	for i, w := range u {
		for w != 0 {
			k := bits.TrailingZeros64(w)
			w &= w - 1
			at := (int64(i)<<6 + int64(k)) * size
			if n := len(all) - 1; n >= 0 && all[n].Offset+all[n].Size == at {
				all[n].Size += size
			} else {
				all = append(all, Range{at, size})
			}
		}
	}
	return all
}
