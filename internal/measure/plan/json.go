package plan

import (
	"encoding/json"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// JSON returns the YAML of a plan as JSON, with its keys in the order of the file and its aliases replaced. Schema
// describes this form. The plan is not checked; see Parse.
func JSON(filename string, data []byte) ([]byte, error) {
	f := &strict.Faults{File: filename}
	root := document.Parse(f, data)
	if err := f.Err(); err != nil || root == nil {
		return nil, err
	}
	return appendJSON(nil, root), nil
}

func appendJSON(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(quote(b, n.Content[i].Value), ':')
			b = appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, c)
		}
		return append(b, ']')
	}
	var v any
	switch n.Tag {
	case "!!null":
		return append(b, "null"...)
	case "!!int":
		// JSON has only decimal numbers; 0x10 and 1_000 stay as they were written.
		if _, err := strconv.ParseInt(n.Value, 10, 64); err == nil && json.Valid([]byte(n.Value)) {
			return append(b, n.Value...)
		}
		if _, err := strconv.ParseUint(n.Value, 10, 64); err == nil && json.Valid([]byte(n.Value)) {
			return append(b, n.Value...)
		}
	case "!!float":
		if err := n.Decode(&v); err == nil {
			if t, err := json.Marshal(v); err == nil {
				return append(b, t...)
			}
		}
	case "!!bool":
		if err := n.Decode(&v); err == nil {
			return strconv.AppendBool(b, v == true)
		}
	}
	return quote(b, n.Value)
}

// quote appends s as a JSON string.
func quote(b []byte, s string) []byte {
	t, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, t...)
}
