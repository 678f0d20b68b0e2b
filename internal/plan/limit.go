package plan

import (
	"plimsoll/internal/limit"

	"go.yaml.in/yaml/v3"
)

// LimitKeys are the keys of a set of limits, as in a plan: "memory", "cpus", ...
func LimitKeys() []string { return limitFields().names() }

// SetLimit sets one limit of l by its key, in the words of a plan: "memory" to "64MiB". The error is an *Error that
// begins with from, what the value came from, such as the flag "--memory 64MB".
func SetLimit(l *limit.Limits, key, value, from string) error {
	var doc yaml.Node
	fault := func(text string) error { return &Error{Flag: from, Message: text} }
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil || doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.ScalarNode {
		return fault("is no number or size")
	}
	for _, f := range limitFields().fields {
		if f.name != key {
			continue
		}
		d := newDecoder(&faults{}, nil)
		f.decode(d, doc.Content[0], "", l)
		if len(d.list) > 0 {
			return fault(d.list[0].Message)
		}
		return nil
	}
	return fault("there is no limit " + short(key) + didYouMean(key, LimitKeys()))
}
