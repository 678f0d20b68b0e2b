package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"plimsoll/hist"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// formatLatencies is the first byte of a blob of histograms. A CRC-32C of the
// rest follows in four bytes, little-endian; then, as varints, the number of
// results, and for each of them the number of classes, and for each of these the length of
// its histogram and the histogram in its binary form (length 0: none).
//
// It is not JSON, as the rest is: ten thousand trials have millions of buckets,
// and reading them as JSON took seven seconds.
const formatLatencies = 'h'

// latencies are the histograms of a trial, by result and class.
type latencies [][]*hist.Histogram

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// split takes the histograms out of a copy of t. They are nil if t has none.
func split(t record.Trial) (record.Trial, latencies) {
	all := make(latencies, len(t.Results))
	results := append([]workload.Result(nil), t.Results...)
	found := false
	for i := range results {
		classes := append([]load.Class(nil), results[i].Classes...)
		all[i] = make([]*hist.Histogram, len(classes))
		for j := range classes {
			all[i][j], classes[j].Lat = classes[j].Lat, nil
			found = found || all[i][j] != nil
		}
		results[i].Classes = classes
	}
	if !found {
		return t, nil
	}
	t.Results = results
	return t, all
}

// encode packs l; nil stays nil.
func (l latencies) encode() ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	const head = 5
	b := make([]byte, head, 2048)
	b[0] = formatLatencies
	b = binary.AppendUvarint(b, uint64(len(l)))
	var one []byte
	for _, classes := range l {
		b = binary.AppendUvarint(b, uint64(len(classes)))
		for _, h := range classes {
			one = one[:0]
			if h != nil {
				var err error
				if one, err = h.AppendBinary(one); err != nil {
					return nil, err
				}
			}
			b = binary.AppendUvarint(b, uint64(len(one)))
			b = append(b, one...)
		}
	}
	binary.LittleEndian.PutUint32(b[1:], crc32.Checksum(b[head:], castagnoli))
	return b, nil
}

// decodeLatencies puts the histograms of a blob into the classes of t.
func decodeLatencies(blob []byte, t *record.Trial) error {
	r, err := openLatencies(blob)
	if err != nil {
		return err
	}
	if err := r.count("results", len(t.Results)); err != nil {
		return err
	}
	for i := range t.Results {
		classes := t.Results[i].Classes
		if err := r.count("classes", len(classes)); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		for j := range classes {
			if classes[j].Lat, err = r.histogram(); err != nil {
				return fmt.Errorf("result %d, class %d: %w", i, j, err)
			}
		}
	}
	if len(r.rest) != 0 {
		return fmt.Errorf("%d bytes are left over", len(r.rest))
	}
	return nil
}

// A latencyReader takes a blob apart.
type latencyReader struct{ rest []byte }

func openLatencies(blob []byte) (*latencyReader, error) {
	switch {
	case len(blob) < 5:
		return nil, errShort
	case blob[0] != formatLatencies:
		return nil, fmt.Errorf("their format %#x is not known", blob[0])
	case crc32.Checksum(blob[5:], castagnoli) != binary.LittleEndian.Uint32(blob[1:]):
		return nil, errors.New("their checksum is wrong")
	}
	return &latencyReader{blob[5:]}, nil
}

var errShort = errors.New("they end too early")

func (r *latencyReader) uvarint() (uint64, error) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		return 0, errShort
	}
	r.rest = r.rest[n:]
	return v, nil
}

// count reads a number that must be want, which bounds all loops by the rest of the
// record.
func (r *latencyReader) count(what string, want int) error {
	n, err := r.uvarint()
	if err == nil && n != uint64(want) {
		err = fmt.Errorf("they are of %d %s, and there are %d", n, what, want)
	}
	return err
}

// histogram reads one, or nil.
func (r *latencyReader) histogram() (*hist.Histogram, error) {
	n, err := r.uvarint()
	if err != nil || n == 0 {
		return nil, err
	}
	if n > uint64(len(r.rest)) {
		return nil, errShort
	}
	h := new(hist.Histogram)
	if err := h.UnmarshalBinary(r.rest[:n]); err != nil {
		return nil, err
	}
	r.rest = r.rest[n:]
	return h, nil
}
