package hist

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// uvarints spells a binary form.
func uvarints(version byte, values ...uint64) []byte {
	b := []byte{version}
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func TestUnmarshalBinaryRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "ends too early"},
		{"unknown version", uvarints(9, 0), "version 9"},
		{"no count", uvarints(1), "ends too early"},
		{"no sum", uvarints(1, 1, 5, 5), "ends too early"},
		{"values after n 0", uvarints(1, 0, 7), "n is 0"},
		{"half a bucket", uvarints(1, 1, 5, 5, 5, 6), "ends too early"},
		{"endless varint", append(uvarints(1, 1, 5, 5, 5), bytes.Repeat([]byte{0xff}, 11)...), "ends too early"},
		{"same bucket twice", uvarints(1, 2, 5, 5, 10, 6, 1, 0, 1), "0 after bucket 5"},
		{"beyond the last bucket", uvarints(1, 1, 5, 5, 5, Buckets+1, 1), "after bucket -1"},
		{"step that wraps", uvarints(1, 1, 5, 5, 5, math.MaxUint64, 1), "after bucket -1"},
		{"empty bucket", uvarints(1, 1, 5, 5, 5, 6, 0), "empty"},
		{"counts that overflow", uvarints(1, 1, 5, 6, 5, 6, math.MaxUint64, 1, 2), "overflows"},
		{"fewer than n", uvarints(1, 2, 5, 5, 10, 6, 1), "buckets hold 1"},
		{"min in another bucket", uvarints(1, 1, 4, 5, 5, 6, 1), "first and last bucket"},
		{"sum too great", uvarints(1, 1, 5, 5, 50, 6, 1), "sum 50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := new(Histogram)
			h.Record(77)
			was := *h
			err := h.UnmarshalBinary(tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("UnmarshalBinary(% x) = %v, want %q", tt.data, err, tt.want)
			}
			if *h != was {
				t.Error("UnmarshalBinary changed the histogram")
			}
			h.Reset() // An empty one is filled in place.
			if err := h.UnmarshalBinary(tt.data); err == nil || *h != (Histogram{}) {
				t.Errorf("UnmarshalBinary into an empty histogram = %v, and leaves count %d", err, h.Count())
			}
		})
	}
}

func TestBinaryRoundTrip(t *testing.T) {
	for name, values := range map[string][]int64{
		"empty":    nil,
		"zero":     {0},
		"spread":   {0, 1, 127, 128, 90_000, 90_001, 3_000_000_000},
		"greatest": {math.MaxInt64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var in, out Histogram
			for _, v := range values {
				in.Record(v)
			}
			b, err := in.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			out.Record(5) // What was there before is replaced.
			if err := out.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			if !out.Equal(&in) {
				t.Errorf("round trip of %v gives count %d, min %d, max %d, sum %d", values, out.Count(), out.Min(), out.Max(), out.Sum())
			}
		})
	}
}

// FuzzUnmarshalBinary: no input panics, and what is accepted is written again
// as the same histogram.
func FuzzUnmarshalBinary(f *testing.F) {
	f.Add(uvarints(1, 0))
	f.Add(uvarints(1, 3, 100, 260, 460, 101, 2, 92, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h, again Histogram
		if h.UnmarshalBinary(data) != nil {
			return
		}
		b, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(b); err != nil || !again.Equal(&h) {
			t.Errorf("% x was accepted, but what it gives (% x) is not the same: %v", data, b, err)
		}
	})
}
