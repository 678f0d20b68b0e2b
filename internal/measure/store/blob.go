package store

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// formatZlibJSON is the first byte of a blob whose rest is JSON in a zlib stream with dictionary. Other formats and
// other dictionaries get other bytes, so that old blobs stay readable.
const formatZlibJSON = 'z'

// dictionary is an invented trial, so that the names of fields and usual values take no space: a blob is a third as big
// as without, and unpacked twice as fast. It changes only with schemaVersion. Content that it lacks is stored in full, so it need not
// keep up with the records.
//
//go:embed dictionary.json
var dictionary []byte

// maxBlob bounds a blob before compression: a damaged or hostile one must not
// take all memory. A trial of 100 clients over an hour has about 30 MB of samples.
const maxBlob = 256 << 20

// errTooLarge is the error for a blob above maxBlob.
var errTooLarge = fmt.Errorf("it has more than %d MiB", maxBlob>>20)

// deflaters are reused, because making one costs more than using it on 3 KB.
var deflaters = sync.Pool{New: func() any {
	// There is no error: the level is valid.
	z, _ := zlib.NewWriterLevelDict(nil, zlib.DefaultCompression, dictionary)
	return z
}}

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
	// All trials of a cell have the same spec, and almost always the same fingerprint. These are half of the text, so
	// they are decoded once.
	specs  cache[workload.Spec]
	wheres cache[[]record.Where]
}

// A cache holds values by their JSON text.
type cache[T any] map[string]T

// maxCached bounds a cache, in case all texts differ.
const maxCached = 1000

// get decodes text, or returns the earlier result for the same text. An empty text gives the zero value.
func (c *cache[T]) get(text []byte) (T, error) {
	if v, ok := (*c)[string(text)]; ok || len(text) == 0 {
		return v, nil
	}
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return v, err
	}
	if *c == nil || len(*c) >= maxCached {
		*c = make(cache[T])
	}
	(*c)[string(text)] = v
	return v, nil
}

// trialText is a trial whose Spec and Where are not decoded yet: the outer fields hide the inner ones of the same name.
type trialText struct {
	record.Trial
	Spec  json.RawMessage `json:"spec"`
	Where json.RawMessage `json:"where"`
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
		d.text = bytes.Buffer{} // Release the memory.
		return errTooLarge
	}
	return json.Unmarshal(d.text.Bytes(), v)
}

func (d *decoder) reset() (err error) {
	if d.z == nil {
		d.z, err = zlib.NewReaderDict(&d.in, dictionary)
		return err
	}
	return d.z.(zlib.Resetter).Reset(&d.in, dictionary)
}

// decodeTrial unpacks a trial; histograms is nil if they aren't wanted or there are none.
func (d *decoder) decodeTrial(rec, histograms []byte) (record.Trial, error) {
	var text trialText
	err := d.decode(rec, &text)
	if err != nil {
		return record.Trial{}, err
	}
	t := text.Trial
	if t.Spec, err = d.specs.get(text.Spec); err != nil {
		return record.Trial{}, fmt.Errorf("spec: %w", err)
	}
	where, err := d.wheres.get(text.Where)
	if err != nil {
		return record.Trial{}, fmt.Errorf("where: %w", err)
	}
	t.Where = where
	if histograms != nil {
		if err := decodeLatencies(histograms, &t); err != nil {
			return record.Trial{}, fmt.Errorf("histograms: %w", err)
		}
	}
	return t, nil
}
