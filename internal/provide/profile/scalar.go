package profile

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/size"
)

// An option of Docker's is text, and Compose quotes numbers. So a value is read as it is written, whatever YAML took it for.

// as makes a scalar read each node as one with that tag.
func as[V any](tag string, s strict.Scalar[V]) strict.Scalar[V] {
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (V, error) {
		c := *n
		c.Tag = tag
		return parse(&c)
	}
	return s
}

// whole is a whole number.
func whole[V int | int64](min, max V) strict.Scalar[V] { return as("!!int", strict.Integer(min, max)) }

// words is free text of one line.
func words(want string) strict.Scalar[string] { return as("!!str", strict.Words(want, 4096, false)) }

// A unit is what a bare number counts.
type unit struct {
	// want completes "wants ...".
	want string
	// word names the unit, one is its size, and suffix is written after a size.
	word    string
	one     int64
	suffix  string
	parse   func(string) (int64, error)
	pattern string
}

var (
	gigabytes = unit{"GB as a whole number, or a size such as 20GB or 20GiB", "GB", 1e9, "", size.Parse, size.Pattern}
	megabytes = unit{"MB a second as a whole number, or a rate such as 100MB/s", "MB/s", 1e6, "/s", size.ParseRate, size.RatePattern}
)

// isWhole reports whether a text is digits.
func isWhole(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// quantity is a number of bytes in min..max.
func (u unit) quantity(min, max int64) strict.Scalar[int64] {
	return strict.Scalar[int64]{
		Want: u.want,
		Parse: func(n *yaml.Node) (int64, error) {
			v, err := u.read(n.Value)
			if err != nil {
				return 0, err
			}
			if v < min || v > max {
				shown := n.Value
				if isWhole(shown) {
					shown += " " + u.word
				}
				return 0, fmt.Errorf("%s is out of range: wants %s to %s", shown, u.format(min), u.format(max))
			}
			return v, nil
		},
		Format: func(v int64) *yaml.Node {
			if v == 0 {
				return nil
			}
			return strict.Text(u.format(v))
		},
		JSON: func() strict.Object {
			return strict.Object{"anyOf": []any{
				strict.Object{"type": "integer", "minimum": (min + u.one - 1) / u.one, "maximum": max / u.one},
				strict.Object{"type": "string", "pattern": u.pattern},
			}}
		},
	}
}

// read returns the bytes of a text. A number that is too large for the unit is as large as can be, and so out of range.
func (u unit) read(s string) (int64, error) {
	if isWhole(s) {
		const most = int64(1) << 62
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v > most/u.one {
			return most, nil
		}
		return v * u.one, nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("wants %s, got %s", u.want, s)
	}
	return u.parse(s)
}

// format writes a number of bytes in the unit in which it is shortest, never bare.
func (u unit) format(v int64) string {
	s := size.Format(v)
	if isWhole(s) {
		s += "B"
	}
	for _, d := range []struct {
		one  int64
		word string
	}{{1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}} {
		if t := strconv.FormatInt(v/d.one, 10) + d.word; v%d.one == 0 && v > 0 && len(t) <= len(s) {
			s = t
		}
	}
	return s + u.suffix
}

// maxMinutes is a year, which no interval reaches.
const maxMinutes = 366 * 24 * 60

// interval is a time in whole minutes; a bare number counts in units of some minutes.
func interval(unit int, name string) strict.Scalar[int] {
	want := fmt.Sprintf("%s as a whole number, or a time such as 90m or 12h", name)
	return strict.Scalar[int]{
		Want: want,
		Parse: func(n *yaml.Node) (int, error) {
			minutes := 0
			if isWhole(n.Value) {
				v, err := strconv.Atoi(n.Value)
				if err != nil || v > maxMinutes {
					v = maxMinutes + 1
				}
				minutes = v * unit
			} else {
				d, err := size.ParseDuration(n.Value)
				if err != nil {
					return 0, fmt.Errorf("wants %s: %w", want, err)
				}
				if d.Minutes() != float64(int(d.Minutes())) {
					return 0, fmt.Errorf("%s is not in whole minutes", n.Value)
				}
				minutes = int(d.Minutes())
			}
			if minutes < 1 || minutes > maxMinutes {
				return 0, fmt.Errorf("%s is out of range: wants 1m to %dh", n.Value, maxMinutes/60)
			}
			return minutes, nil
		},
		Format: func(v int) *yaml.Node {
			switch {
			case v == 0:
				return nil
			case v%60 == 0:
				return strict.Text(fmt.Sprintf("%dh", v/60))
			}
			return strict.Text(fmt.Sprintf("%dm", v))
		},
		JSON: func() strict.Object {
			return strict.Object{"anyOf": []any{
				strict.Object{"type": "integer", "minimum": 1, "maximum": maxMinutes / unit},
				strict.Object{"type": "string", "pattern": size.DurationPattern},
			}}
		},
	}
}

// yesNo are the words of a switch.
var yesNo = map[string]bool{"yes": true, "true": true, "no": false, "false": false}

// toggle is true or false; yes and no are read, too. always says that false is written.
func toggle(always bool) strict.Scalar[bool] {
	return strict.Scalar[bool]{
		Want: "true or false",
		Parse: func(n *yaml.Node) (bool, error) {
			v, ok := yesNo[strings.ToLower(n.Value)]
			if !ok {
				return false, fmt.Errorf("wants true or false, got %s", strict.Describe(n))
			}
			return v, nil
		},
		Format: func(v bool) *yaml.Node {
			if !v && !always {
				return nil
			}
			return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(v)}
		},
		JSON: func() strict.Object { return strict.Object{"type": "boolean"} },
	}
}

// choice is one of some words in any case; other has further words for some of them.
func choice(other map[string]string, known ...string) strict.Scalar[string] {
	s := strict.Choice(known...)
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		c := *n
		c.Value = strings.ToLower(c.Value)
		if w := other[c.Value]; w != "" {
			c.Value = w
		}
		return parse(&c)
	}
	return s
}

// folder is an absolute path of the host.
func folder() strict.Scalar[string] {
	s := words("an absolute path")
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil && (!path.IsAbs(v) || slices.Contains(strings.Split(v, "/"), "..")) {
			err = fmt.Errorf("wants an absolute path without .., got %s", strict.Short(v))
		}
		return path.Clean(v), err
	}
	s.JSON = func() strict.Object { return strict.Object{"type": "string", "pattern": "^/"} }
	return s
}

// secret makes a scalar's faults leave out the text: it may be the key itself, pasted where its file belongs.
func secret[V any](s strict.Scalar[V]) strict.Scalar[V] {
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (V, error) {
		v, err := parse(n)
		if err != nil {
			return v, fmt.Errorf("wants %s; a profile never holds the key itself", s.Want)
		}
		return v, nil
	}
	return s
}
