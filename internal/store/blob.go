package store

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"plimsoll/hist"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// formatZlibJSON is the first byte of a blob: the rest is JSON in a zlib stream.
// Other formats get other bytes, so that old blobs stay readable.
const formatZlibJSON = 'z'

// maxBlob bounds a blob before compression: a damaged or hostile one must not
// take all memory. A trial of 100 clients over an hour has about 30 MB of samples.
const maxBlob = 256 << 20

// errTooLarge is the answer to a blob above maxBlob.
var errTooLarge = fmt.Errorf("it has more than %d MiB", maxBlob>>20)

// deflaters are kept, as making one costs more than using it on 3 KB.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}

// encodeBlob packs v.
func encodeBlob(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > maxBlob {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	b.WriteByte(formatZlibJSON)
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&b)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A decoder unpacks blobs; each goroutine has its own.
type decoder struct {
	in   bytes.Reader
	z    io.ReadCloser
	text bytes.Buffer
}

// decode unpacks blob into v. The zlib checksum guards what is decoded.
func (d *decoder) decode(blob []byte, v any) error {
	if len(blob) == 0 {
		return errors.New("it is empty")
	}
	if blob[0] != formatZlibJSON {
		return fmt.Errorf("its format %#x is not known", blob[0])
	}
	d.in.Reset(blob[1:])
	if err := d.reset(); err != nil {
		return err
	}
	d.text.Reset()
	n, err := d.text.ReadFrom(io.LimitReader(d.z, maxBlob+1))
	if err != nil {
		return err
	}
	if n > maxBlob {
		d.text = bytes.Buffer{} // Give the memory back.
		return errTooLarge
	}
	return json.Unmarshal(d.text.Bytes(), v)
}

func (d *decoder) reset() (err error) {
	if d.z == nil {
		d.z, err = zlib.NewReader(&d.in)
		return err
	}
	return d.z.(zlib.Resetter).Reset(&d.in, nil)
}

// latencies are the histograms of a trial, by result and class.
type latencies [][]*hist.Histogram

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

// join puts the histograms back.
func join(t *record.Trial, all latencies) error {
	if len(all) != len(t.Results) {
		return fmt.Errorf("it has histograms of %d results, and %d results", len(all), len(t.Results))
	}
	for i, lats := range all {
		classes := t.Results[i].Classes
		if len(lats) != len(classes) {
			return fmt.Errorf("result %d has %d histograms and %d classes", i, len(lats), len(classes))
		}
		for j := range classes {
			classes[j].Lat = lats[j]
		}
	}
	return nil
}

// decodeTrial unpacks a trial; histograms is nil if they aren't wanted or there
// are none.
func (d *decoder) decodeTrial(rec, histograms []byte) (record.Trial, error) {
	var t record.Trial
	if err := d.decode(rec, &t); err != nil {
		return record.Trial{}, err
	}
	if histograms == nil {
		return t, nil
	}
	var all latencies
	if err := d.decode(histograms, &all); err != nil {
		return record.Trial{}, fmt.Errorf("histograms: %w", err)
	}
	if err := join(&t, all); err != nil {
		return record.Trial{}, err
	}
	return t, nil
}
