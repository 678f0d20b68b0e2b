package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An InvalidError says why data is not a valid file.
type InvalidError struct{ Why string }

func (e *InvalidError) Error() string { return e.Why }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Is reports whether data names itself a file of this package, valid or not.
func Is(data []byte) bool {
	var h header
	var what struct {
		Format string `json:"format"`
	}
	// Of a file that is cut off the beginning is enough.
	return json.Unmarshal(data, &h) == nil && h.Format == Format || json.Unmarshal(data, &what) != nil && bytes.HasPrefix(data, []byte(`{"format":"`+Format+`"`))
}

// read returns the runs as the file has them. Each error is an *InvalidError.
func read(data []byte) ([]Run, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	var bare bytes.Buffer
	if err := json.Compact(&bare, h.Content); err != nil {
		return nil, invalid("its content can't be read: %v", err)
	}
	if got := digest(bare.Bytes()); got != h.Hash {
		return nil, invalid("its content does not fit its hash: it was changed after it was made")
	}
	var c content
	if err := json.Unmarshal(h.Content, &c); err != nil {
		return nil, invalid("its content can't be read: %v", err)
	}
	if len(c.Runs) == 0 {
		return nil, invalid("it has no run")
	}
	for i := range c.Runs {
		if c.Runs[i].Report == nil {
			return nil, invalid("run %d of it has no report", i+1)
		}
	}
	return c.Runs, nil
}

// readHeader reads the outermost object, and says what is wrong with data that has none.
func readHeader(data []byte) (h header, err error) {
	const what = "it is not a file of 'plimsoll results export --share'"
	d := json.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&h); {
	case errors.Is(err, io.EOF):
		return h, invalid("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return h, invalid("it is cut off: its JSON does not end")
	case err != nil:
		return h, invalid("%s: %v", what, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return h, invalid("there is more after its end")
	}
	switch {
	case h.Format != Format:
		return h, invalid("%s: its format is %.40q, not %q", what, h.Format, Format)
	case h.Version > Version:
		return h, invalid("it was made by a newer version of Plimsoll: its format has version %d, and this one knows %d", h.Version, Version)
	case h.Version < 1:
		return h, invalid("its format has version %d, which there never was", h.Version)
	}
	return h, nil
}
