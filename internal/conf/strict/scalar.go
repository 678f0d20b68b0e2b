package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/text/size"
)

// A Scalar is a value that is written as one word.
type Scalar[V any] struct {
	// Want completes "wants ...".
	Want string
	// Parse reads a node that is a scalar and not empty.
	Parse func(n *yaml.Node) (V, error)
	// Format returns nil for the zero value.
	Format func(V) *yaml.Node
	JSON   func() Object
}

func (s Scalar[V]) Decode(d *Decoder, n *yaml.Node, path string, dst *V) {
	if n.Kind != yaml.ScalarNode {
		d.FailAt(n, path, "wants %s, got %s", s.Want, Describe(n))
		return
	}
	v, err := s.Parse(n)
	if err != nil {
		d.FailAt(n, path, "%v", err)
		return
	}
	*dst = v
}

func (s Scalar[V]) Encode(src *V) *yaml.Node { return s.Format(*src) }
func (s Scalar[V]) Schema(bool) Object       { return s.JSON() }

// plain makes a node that is read back as a number, boolean, size or time.
func plain(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// Text makes a node that is read back as text, quoted where YAML needs it.
func Text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.ContainsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r > unicode.MaxASCII }) || s != strings.TrimSpace(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// Integer is a plain whole number in min..max.
func Integer[V int | int64](min, max V) Scalar[V] {
	want := fmt.Sprintf("a whole number from %d to %d", min, max)
	return Scalar[V]{
		Want: want,
		Parse: func(n *yaml.Node) (V, error) {
			if n.Tag != "!!int" {
				return 0, fmt.Errorf("wants %s, got %s", want, Describe(n))
			}
			i, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil || i < int64(min) || i > int64(max) {
				return 0, fmt.Errorf("wants %s, got %s", want, n.Value)
			}
			return V(i), nil
		},
		Format: func(v V) *yaml.Node {
			if v == 0 {
				return nil
			}
			return plain(strconv.FormatInt(int64(v), 10))
		},
		JSON: func() Object { return Object{"type": "integer", "minimum": int64(min), "maximum": int64(max)} },
	}
}

// Percent is an integer from 0 to 100 that knows whether it was given.
func Percent() Scalar[*int] {
	i := Integer(0, 100)
	return Scalar[*int]{
		Want: i.Want,
		Parse: func(n *yaml.Node) (*int, error) {
			v, err := i.Parse(n)
			return &v, err
		},
		Format: func(v *int) *yaml.Node {
			if v == nil {
				return nil
			}
			return plain(strconv.Itoa(*v))
		},
		JSON: i.JSON,
	}
}

// Seed is a whole number of 64 bits.
func Seed() Scalar[uint64] {
	const want = "a whole number from 0 to 18446744073709551615"
	return Scalar[uint64]{
		Want: want,
		Parse: func(n *yaml.Node) (uint64, error) {
			v, err := strconv.ParseUint(n.Value, 10, 64)
			if err != nil || n.Tag != "!!int" {
				return 0, fmt.Errorf("wants %s, got %s", want, Describe(n))
			}
			return v, nil
		},
		Format: func(v uint64) *yaml.Node {
			if v == 0 {
				return nil
			}
			return plain(strconv.FormatUint(v, 10))
		},
		JSON: func() Object { return Object{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64)} },
	}
}

// Decimal is a number in min..max.
func Decimal(min, max float64) Scalar[float64] {
	want := fmt.Sprintf("a number from %v to %v", min, max)
	return Scalar[float64]{
		Want: want,
		Parse: func(n *yaml.Node) (float64, error) {
			v, err := strconv.ParseFloat(n.Value, 64)
			// Written the other way round a NaN would pass.
			if err != nil || (n.Tag != "!!int" && n.Tag != "!!float") || !(v >= min && v <= max) {
				return 0, fmt.Errorf("wants %s, got %s", want, Describe(n))
			}
			return v, nil
		},
		Format: func(v float64) *yaml.Node {
			if v == 0 {
				return nil
			}
			return plain(strconv.FormatFloat(v, 'g', -1, 64))
		},
		JSON: func() Object { return Object{"type": "number", "minimum": min, "maximum": max} },
	}
}

// Size is a size in min..max bytes.
func Size(min, max int64) Scalar[int64] {
	return quantity("a size such as 4KiB", min, max, size.Parse, size.Pattern)
}

// Rate is a size in min..max bytes per second.
func Rate(min, max int64) Scalar[int64] {
	return quantity("a rate such as 10MiB or 10MiB/s", min, max, size.ParseRate, size.RatePattern)
}

func quantity(want string, min, max int64, parse func(string) (int64, error), pattern string) Scalar[int64] {
	return Scalar[int64]{
		Want: want,
		Parse: func(n *yaml.Node) (int64, error) {
			if n.Tag != "!!int" && n.Tag != "!!str" && n.Tag != "!!float" {
				return 0, fmt.Errorf("wants %s, got %s", want, Describe(n))
			}
			v, err := parse(n.Value)
			if err != nil {
				return 0, err
			}
			if v < min || v > max {
				return 0, fmt.Errorf("%s is out of range: wants %s to %s", n.Value, size.Format(min), size.Format(max))
			}
			return v, nil
		},
		Format: func(v int64) *yaml.Node {
			if v == 0 {
				return nil
			}
			return plain(size.Format(v))
		},
		JSON: func() Object {
			return Object{"anyOf": []any{
				Object{"type": "integer", "minimum": min, "maximum": max},
				Object{"type": "string", "pattern": pattern},
			}}
		},
	}
}

// Duration is a time in min..max.
func Duration(min, max time.Duration) Scalar[time.Duration] {
	const want = "a time such as 400ms or 5s"
	return Scalar[time.Duration]{
		Want: want,
		Parse: func(n *yaml.Node) (time.Duration, error) {
			v, err := size.ParseDuration(n.Value)
			switch {
			case err != nil:
				return 0, err
			case v < min || v > max:
				return 0, fmt.Errorf("%s is out of range: wants %s to %s", n.Value, size.FormatDuration(min), size.FormatDuration(max))
			}
			return v, nil
		},
		Format: func(v time.Duration) *yaml.Node {
			if v == 0 {
				return nil
			}
			return plain(size.FormatDuration(v))
		},
		JSON: func() Object {
			o := Object{"type": "string", "pattern": size.DurationPattern}
			if min > 0 {
				return o
			}
			return Object{"anyOf": []any{o, Object{"const": 0}}}
		},
	}
}

// Boolean is true or false.
func Boolean() Scalar[bool] {
	return Scalar[bool]{
		Want: "true or false",
		Parse: func(n *yaml.Node) (bool, error) {
			if n.Tag != "!!bool" {
				return false, fmt.Errorf("wants true or false, got %s", Describe(n))
			}
			return strings.EqualFold(n.Value, "true"), nil
		},
		Format: func(v bool) *yaml.Node {
			if !v {
				return nil
			}
			return plain("true")
		},
		JSON: func() Object { return Object{"type": "boolean"} },
	}
}

// Choice is one of some words.
func Choice[V ~string](words ...V) Scalar[V] {
	names := make([]string, len(words))
	list := make([]any, len(words))
	for i, w := range words {
		names[i], list[i] = string(w), string(w)
	}
	want := "one of " + strings.Join(names, ", ")
	return Scalar[V]{
		Want: want,
		Parse: func(n *yaml.Node) (V, error) {
			for _, w := range words {
				if n.Value == string(w) {
					return w, nil
				}
			}
			return "", fmt.Errorf("wants %s, got %s%s", want, Describe(n), DidYouMean(n.Value, names))
		},
		Format: func(v V) *yaml.Node {
			if v == "" {
				return nil
			}
			return Text(string(v))
		},
		JSON: func() Object { return Object{"enum": list} },
	}
}

// Words is free text of at most max bytes, without control characters: it is
// printed on terminals. lines says whether it may have several lines.
func Words(want string, max int, lines bool) Scalar[string] {
	return Scalar[string]{
		Want: want,
		Parse: func(n *yaml.Node) (string, error) {
			bad := func(r rune) bool { return unicode.IsControl(r) && !(lines && (r == '\n' || r == '\t')) }
			switch {
			case n.Tag != "!!str":
				return "", fmt.Errorf("wants %s, got %s: put it in quotes if you mean the text", want, Describe(n))
			case n.Value == "":
				return "", fmt.Errorf("wants %s, got an empty text", want)
			case len(n.Value) > max:
				return "", fmt.Errorf("has %d bytes: the most is %d", len(n.Value), max)
			case !utf8.ValidString(n.Value) || strings.ContainsFunc(n.Value, bad):
				return "", fmt.Errorf("holds control characters: %s", Short(n.Value))
			}
			return n.Value, nil
		},
		Format: func(v string) *yaml.Node {
			if v == "" {
				return nil
			}
			return Text(v)
		},
		JSON: func() Object { return Object{"type": "string", "minLength": 1, "maxLength": max} },
	}
}

// Version is one of some versions such as 4.2, which YAML takes for a number.
func Version(words ...string) Scalar[string] {
	s := Choice(words...)
	var list []any
	for _, w := range words {
		list = append(list, w, json.Number(w))
	}
	s.JSON = func() Object { return Object{"enum": list} }
	return s
}

// Name is the name of something: see IsName.
func Name() Scalar[string] {
	s := Words("a name", 4096, false)
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil && !IsName(v) {
			err = errors.New(NameFault(v))
		}
		return v, err
	}
	s.JSON = func() Object { return Object{"type": "string", "pattern": NamePattern} }
	return s
}
