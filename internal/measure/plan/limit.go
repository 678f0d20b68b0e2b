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

// SetLimit sets one limit of l by its key, such as "memory" to "64MiB", in the words of a plan or of limit.Ask. The error
// is an *Error that begins with from, the source of the value, such as the flag "--memory 64MB".
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

// limited is a scalar whose values package limit reads, so that a plan and a flag accept the same values and report the
// same errors. s gives the form for YAML: its tags, its schema and how it is written.
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
