package plan

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// sizeRange is fio's bsrange: the multiples of the smaller size up to the larger, equally often. A job with it is the same
// as one with a bssplit, and is written as that.
type sizeRange struct{}

const (
	rangeWant = "two sizes such as 4KiB-64KiB"
	// mostSizes is how many sizes a range may have, as in fio's dialect here.
	mostSizes = 64
)

func (sizeRange) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *load.Job) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		d.FailAt(n, path, "wants %s, got %s", rangeWant, strict.Describe(n))
		return
	}
	all, err := parseRange(n.Value)
	if err != nil {
		d.FailAt(n, path, "%v", err)
		return
	}
	dst.ReadSplit, dst.WriteSplit = all, slices.Clone(all)
}

// parseRange reads two sizes and returns all multiples of the first up to the second.
func parseRange(s string) ([]load.SizeShare, error) {
	low, high, ok := strings.Cut(s, "-")
	if !ok {
		return nil, fmt.Errorf("wants %s, got %s", rangeWant, strict.Short(s))
	}
	least, err := size.Parse(low)
	if err != nil {
		return nil, err
	}
	most, err := size.Parse(high)
	if err != nil {
		return nil, err
	}
	switch {
	case least < 1 || most > maxBlock:
		return nil, fmt.Errorf("%s is out of range: wants sizes from %s to %s", strict.Short(s), size.Format(1), size.Format(maxBlock))
	case least >= most || most%least != 0:
		return nil, fmt.Errorf("%s: the second size must be a multiple of the first", strict.Short(s))
	case most/least > mostSizes:
		return nil, fmt.Errorf("%s: the second size may be up to %d times the first: use bssplit", strict.Short(s), mostSizes)
	}
	var all []load.SizeShare
	for n := range most / least {
		all = append(all, load.SizeShare{Size: least * (n + 1), Percent: 100 / float64(most/least)})
	}
	return all, nil
}

func (sizeRange) Encode(*load.Job) *yaml.Node { return nil }

func (sizeRange) Schema(bool) strict.Object {
	return strict.Object{"type": "string", "pattern": "^[^-]+-[^-]+$"}
}

// pattern is fio's buffer_pattern: the bytes that each written block repeats.
type pattern struct{}

const (
	patternWant = "bytes such as 0xdeadbeef, or a text"
	// mostPattern is the longest pattern in bytes: still readable on a line.
	mostPattern = 512
)

func (pattern) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *load.Job) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" && n.Tag != "!!int" {
		d.FailAt(n, path, "wants %s, got %s", patternWant, strict.Describe(n))
		return
	}
	p, err := parsePattern(n)
	if err != nil {
		d.FailAt(n, path, "%v", err)
		return
	}
	dst.Data, dst.Pattern = load.DataPattern, p
}

// parsePattern reads bytes after 0x, or a text.
func parsePattern(n *yaml.Node) ([]byte, error) {
	digits, isHex := strings.CutPrefix(n.Value, "0x")
	p := []byte(n.Value)
	switch {
	case isHex:
		var err error
		if p, err = hex.DecodeString(digits); err != nil {
			return nil, fmt.Errorf("%s: wants two hexadecimal digits for each byte: 0xdeadbeef", strict.Short(n.Value))
		}
	case n.Tag == "!!int":
		return nil, fmt.Errorf("%s is a number: write its bytes as in 0x04d2, or put it in quotes for a text", strict.Short(n.Value))
	}
	if len(p) == 0 || len(p) > mostPattern {
		return nil, fmt.Errorf("%s has %d bytes: wants 1 to %d", strict.Short(n.Value), len(p), mostPattern)
	}
	return p, nil
}

func (pattern) Encode(src *load.Job) *yaml.Node {
	if src.Data != load.DataPattern {
		return nil
	}
	return strict.Text("0x" + hex.EncodeToString(src.Pattern))
}

func (pattern) Schema(bool) strict.Object { return strict.Object{"type": []any{"string", "integer"}} }

// processors is fio's cpus_allowed: a list such as 0-3,5.
func processors() strict.Scalar[[]int] {
	const want = "numbers of processors such as 0 or 0-3,5"
	return strict.Scalar[[]int]{
		Want:  want,
		Parse: func(n *yaml.Node) ([]int, error) { return parseProcessors(n.Value, want) },
		Format: func(all []int) *yaml.Node {
			if len(all) == 0 {
				return nil
			}
			var parts []string
			for _, c := range all {
				parts = append(parts, strconv.Itoa(c))
			}
			return strict.Text(strings.Join(parts, ","))
		},
		JSON: func() strict.Object {
			return strict.Object{"anyOf": []any{strict.Object{"type": "integer", "minimum": 0}, strict.Object{"type": "string", "pattern": `^\d+(-\d+)?(,\d+(-\d+)?)*$`}}}
		},
	}
}

// mostProcessor is the highest number of a processor that the load generator accepts.
const mostProcessor = 1023

// parseProcessors reads a list of numbers and ranges.
func parseProcessors(s, want string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.ParseUint(low, 10, 16)
		last, err2 := strconv.ParseUint(high, 10, 16)
		switch {
		case err != nil || err2 != nil:
			return nil, fmt.Errorf("wants %s, got %s", want, strict.Short(s))
		case last < first:
			return nil, fmt.Errorf("%s: the range %s goes down", strict.Short(s), part)
		case last > mostProcessor:
			return nil, fmt.Errorf("%s: processors have numbers from 0 to %d", strict.Short(s), mostProcessor)
		}
		for c := int(first); c <= int(last); c++ {
			if slices.Contains(all, c) {
				return nil, fmt.Errorf("%s: processor %d is given twice", strict.Short(s), c)
			}
			all = append(all, c)
		}
	}
	return all, nil
}
