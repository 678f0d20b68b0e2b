package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An InvalidError says why data is not a valid file.
type InvalidError struct{ Why string }

func (e *InvalidError) Error() string { return e.Why }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Is reports whether data calls itself a file of this package, valid or not.
func Is(data []byte) bool {
	// Of a file that is cut off the beginning is enough.
	if bytes.HasPrefix(data, []byte(`{"format":"`+Format+`"`)) {
		return true
	}
	var h header
	return json.Unmarshal(data, &h) == nil && h.Format == Format
}

// A given run is one of a file, as the file has it.
type given struct {
	Run
	// tree is the same as JSON has it, with keys that Run lacks.
	tree any
}

// read returns the runs as the file has them. Each error is an *InvalidError.
func read(data []byte) ([]given, error) {
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
	var tree map[string]any
	if err := json.Unmarshal(h.Content, &tree); err != nil {
		return nil, invalid("its content can't be read: %v", err)
	}
	if err := oneMeaning(tree); err != nil {
		return nil, err
	}
	trees, _ := tree["runs"].([]any)
	if len(c.Runs) == 0 || len(trees) != len(c.Runs) || len(tree) != 1 {
		return nil, invalid("its content is not a list of runs, with one at least")
	}
	var out []given
	for i, r := range c.Runs {
		if r.Report == nil {
			return nil, invalid("run %d of it has no report", i+1)
		}
		out = append(out, given{r, trees[i]})
	}
	return out, nil
}

// oneMeaning refuses keys that differ in their case alone. Go takes them for one key, and other programs for two: they would read
// another result than the one that was checked.
func oneMeaning(v any) error {
	switch v := v.(type) {
	case map[string]any:
		seen := map[string]bool{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if seen[strings.ToLower(k)] {
				return invalid("it has two keys %q, in capitals and in small letters", strings.ToLower(k))
			}
			seen[strings.ToLower(k)] = true
			if err := oneMeaning(v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range v {
			if err := oneMeaning(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHeader reads the outermost object, and says what is wrong with data that has none.
func readHeader(data []byte) (h header, err error) {
	const what = "it is not a file of 'plimsoll results export --share'"
	var keys map[string]json.RawMessage
	var wrongType *json.UnmarshalTypeError
	d := json.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&keys); {
	case errors.Is(err, io.EOF):
		return h, invalid("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return h, invalid("it is cut off: its JSON does not end")
	case errors.As(err, &wrongType):
		return h, invalid("%s: it is no object of JSON", what)
	case err != nil:
		return h, invalid("%s: %v", what, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return h, invalid("there is more after its end")
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, invalid("%s: %v", what, err)
	}
	switch {
	case h.Format != Format:
		return h, invalid("%s: its format is %.40q, not %q", what, h.Format, Format)
	case h.Version > Version:
		return h, invalid("it was made by a newer version of Plimsoll: its format has version %d, and this one knows %d", h.Version, Version)
	case h.Version < 1:
		return h, invalid("its format has version %d, which there never was", h.Version)
	}
	// The hash does not cover other keys, so they could say anything.
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains([]string{"format", "version", "hash", "content"}, k) {
			return h, invalid("it has a key %.40q beside its content", k)
		}
	}
	return h, nil
}
