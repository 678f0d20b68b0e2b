package policy

import (
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// maxRules bounds the rules: each container is compared with all of them.
const maxRules = 10_000

// document is what a file with a policy is. The largest one has maxRules rules of some 40 values.
var document = strict.Document{What: "policy", Empty: "list its rules" + orNone, MaxNodes: 40 * maxRules}

// orNone says how to write a policy that limits nothing.
const orNone = ", or write rules: [] to limit nothing"

// Parse reads a policy; file is its name, for messages. The error is of type strict.Errors and has every fault that was
// found. A policy without rules says so, by "rules: []": text that has no rules key, as that of a file which was being
// written when it was read or when its disk was full, is a fault.
func Parse(file string, data []byte) (*Policy, error) {
	d := newDecoder(file)
	root := document.Parse(d.Faults, data)
	if root == nil {
		return nil, d.Err()
	}
	p := &Policy{}
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

// A decoder reads one file. Messages name the key and its line, and need no path.
type decoder struct{ *strict.Decoder }

func newDecoder(file string) *decoder {
	return &decoder{strict.NewDecoder(&strict.Faults{File: file}, nil)}
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) { d.FailAt(n, "", format, args...) }

// fields are the keys of a section, and what reads each.
type fields map[string]func(n *yaml.Node)

// section reads a map with known keys.
func (d *decoder) section(n *yaml.Node, what string, known fields) {
	read := map[string]func(*yaml.Node, string){}
	for k, f := range known {
		read[k] = func(v *yaml.Node, _ string) { f(v) }
	}
	d.Map(n, "", what, read)
}
