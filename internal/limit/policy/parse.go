package policy

import (
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// maxRules bounds the rules: each container is compared with all of them.
const maxRules = 10_000

// document describes a policy file. The largest one has maxRules rules of about 40 values.
var document = strict.Document{What: "policy", Empty: "list its rules" + orNone, MaxNodes: 40 * maxRules}

// orNone says how to write a policy that limits nothing.
const orNone = ", or write rules: [] to limit nothing"

// Parse reads a policy; file is its name, for messages. The error is of type strict.Errors and has every fault that
// was found. A policy without rules must say "rules: []". A text without the key rules is a fault: it may be a file
// that was read while it was written, or cut short by a full disk.
func Parse(file string, data []byte) (*Policy, error) {
	d := newDecoder(file)
	root := document.Parse(d.Faults, data)
	if root == nil {
		return nil, d.Err()
	}
	p := &Policy{}
	if n := unlisted(root); n != nil {
		d.fail(n, "rules: has no value: list them%s", orNone)
		return nil, d.Err()
	}
	before, listed := len(d.Found), false
	d.section(root, "a policy", fields{"rules": func(n *yaml.Node) { listed, p.Rules = true, d.rules(n) }})
	if !listed && len(d.Found) == before {
		d.fail(root, "the policy has no rules: list them%s", orNone)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// unlisted returns the key rules if it has no value, or nil.
func unlisted(root *yaml.Node) *yaml.Node {
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "rules" && root.Content[i+1].Tag == "!!null" {
			return root.Content[i]
		}
	}
	return nil
}

// A decoder reads one file. Its messages name the key and the line, without a path of keys.
type decoder struct{ *strict.Decoder }

func newDecoder(file string) *decoder {
	return &decoder{strict.NewDecoder(&strict.Faults{File: file}, nil)}
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) { d.FailAt(n, "", format, args...) }

// fields maps the keys of a section to the functions that read them.
type fields map[string]func(n *yaml.Node)

// section reads a map with known keys.
func (d *decoder) section(n *yaml.Node, what string, known fields) {
	read := map[string]func(*yaml.Node, string){}
	for k, f := range known {
		read[k] = func(v *yaml.Node, _ string) { f(v) }
	}
	d.Map(n, "", what, read)
}
