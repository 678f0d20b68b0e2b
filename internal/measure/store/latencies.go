package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// formatLatencies and formatResponses are the first bytes of a blob of
// histograms. A CRC-32C of the rest follows in four bytes, little-endian; then, as varints, the
// number of results, and for each of them the number of classes, and for each of
// these the length of its histogram and the histogram in its binary form (length
// 0: none). With formatResponses a class has two histograms, that of an open loop's response
// times being the second.
//
// It is not JSON, as the rest is: ten thousand trials have millions of buckets,
// and reading them as JSON took seven seconds.
const (
	formatLatencies = 'h'
	formatResponses = 'r'
)

// latencies are the histograms of a trial, by result and class.
type latencies [][]classLatencies

type classLatencies struct{ lat, response *hist.Histogram }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// split takes the histograms out of a copy of t. They are nil if t has none.
func split(t record.Trial) (record.Trial, latencies) {
	all := make(latencies, len(t.Results))
	results := append([]workload.Result(nil), t.Results...)
	found := false
	for i := range results {
		classes := append([]load.Class(nil), results[i].Classes...)
		all[i] = make([]classLatencies, len(classes))
		for j := range classes {
			c := &classes[j]
			all[i][j] = classLatencies{c.Lat, c.Response}
			found = found || c.Lat != nil || c.Response != nil
			c.Lat, c.Response = nil, nil
		}
		results[i].Classes = classes
	}
	if !found {
		return t, nil
	}
	t.Results = results
	return t, all
}

// responses reports whether l has any.
func (l latencies) responses() bool {
	for _, classes := range l {
		for _, c := range classes {
			if c.response != nil {
				return true
			}
		}
	}
	return false
}

// encode packs l; for nil it returns nil.
func (l latencies) encode() ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	const head = 5
	b := make([]byte, head, 2048)
	b[0] = formatLatencies
	both := l.responses()
	if both {
		b[0] = formatResponses
	}
	b = binary.AppendUvarint(b, uint64(len(l)))
	for _, classes := range l {
		b = binary.AppendUvarint(b, uint64(len(classes)))
		for _, c := range classes {
			var err error
			if b, err = appendHistogram(b, c.lat); err != nil {
				return nil, err
			}
			if !both {
				continue
			}
			if b, err = appendHistogram(b, c.response); err != nil {
				return nil, err
			}
		}
	}
	binary.LittleEndian.PutUint32(b[1:], crc32.Checksum(b[head:], castagnoli))
	return b, nil
}

func appendHistogram(b []byte, h *hist.Histogram) ([]byte, error) {
	if h == nil {
		return binary.AppendUvarint(b, 0), nil
	}
	one, err := h.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return append(binary.AppendUvarint(b, uint64(len(one))), one...), nil
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
			if classes[j].Lat, err = r.histogram(); err == nil && blob[0] == formatResponses {
				classes[j].Response, err = r.histogram()
			}
			if err != nil {
				return fmt.Errorf("result %d, class %d: %w", i, j, err)
			}
		}
	}
	if len(r.rest) != 0 {
		return fmt.Errorf("%d bytes are left over", len(r.rest))
	}
	return nil
}

// A latencyReader parses a blob.
type latencyReader struct{ rest []byte }

func openLatencies(blob []byte) (*latencyReader, error) {
	switch {
	case len(blob) < 5:
		return nil, errShort
	case blob[0] != formatLatencies && blob[0] != formatResponses:
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

// count reads a number that must be want. So the rest of the record bounds all loops.
func (r *latencyReader) count(what string, want int) error {
	n, err := r.uvarint()
	if err == nil && n != uint64(want) {
		err = fmt.Errorf("they are of %d %s, and there are %d", n, what, want)
	}
	return err
}

// histogram reads a histogram, or nil.
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
