package plan

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
)

// LimitKeys are the keys of a set of limits, as in a plan: "memory", "cpus", ...
func LimitKeys() []string { return limitFields().Names() }

// SetLimit sets one limit of l by its key, in the words of a plan: "memory" to "64MiB", and of limit.Ask. The error is
// an *Error that begins with from, what the value came from, such as the flag "--memory 64MB".
func SetLimit(l *limit.Limits, key, value, from string) error {
	fault := func(text string) error { return &strict.Error{Flag: from, Message: text} }
	if !slices.Contains(LimitKeys(), key) || key == deviceWide {
		return fault("there is no limit " + strict.Short(key) + strict.DidYouMean(key, LimitKeys()))
	}
	v, err := limit.Parse(limit.Key(key), value)
	if err != nil {
		return fault(err.Error())
	}
	*l = l.With(limit.Key(key), v)
	return nil
}

// limited is a scalar whose values are those of a limit: package limit reads them, so that a plan and a flag take the
// same and say the same of what they don't. s gives the form for YAML: its tags, its schema and how it is written.
func limited[V any](k limit.Key, s strict.Scalar[V], tags string, of func(limit.Limits) V) strict.Scalar[V] {
	s.Parse = func(n *yaml.Node) (v V, err error) {
		if !slices.Contains(strings.Fields(tags), strings.TrimPrefix(n.Tag, "!!")) {
			return v, fmt.Errorf("wants %s, got %s", s.Want, strict.Describe(n))
		}
		l, err := limit.Parse(k, n.Value)
		return of(l), err
	}
	return s
}
