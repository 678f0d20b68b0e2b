package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/text/nearest"
)

// MaxSize is the largest policy that is read, in bytes.
const MaxSize = 1 << 20

// maxRules bounds the rules: each container is compared with all of them.
const maxRules = 10_000

// An Error is one fault of a policy.
type Error struct {
	// File, Line and Column are where it is; lines and columns count from 1.
	File         string
	Line, Column int
	// Message reports what is wrong and how to mend it.
	Message string
}

// Error implements error: "file:line:column: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all faults of a policy, by their place in the file.
type Errors []error

// maxErrors bounds how many faults are told.
const maxErrors = 50

// Error implements error: one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e Errors) Unwrap() []error { return e }

// Parse reads a policy; file is its name, for messages. The error is of type Errors and has every fault that was
// found. A policy without rules says so, by "rules: []": text that has no rules key, as that of a file which was being
// written when it was read or when its disk was full, is a fault.
func Parse(file string, data []byte) (*Policy, error) {
	d := &decoder{file: file}
	p := d.policy(data)
	if len(d.faults) == 0 {
		return p, nil
	}
	slices.SortStableFunc(d.faults, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	var all Errors
	for i, f := range d.faults {
		if i == maxErrors {
			all = append(all, fmt.Errorf("%s: and %d more faults", file, len(d.faults)-i))
			break
		}
		all = append(all, f)
	}
	return nil, all
}

// A decoder collects the faults of one file.
type decoder struct {
	file   string
	faults []*Error
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, &Error{d.file, max(1, n.Line), max(1, n.Column), fmt.Sprintf(format, args...)})
}

// yamlLine is how the YAML package says where it failed; it knows no columns.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// syntax is the fault of text that is no YAML.
func (d *decoder) syntax(err error) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	d.fail(&yaml.Node{Line: line}, "not YAML: %s", text)
}

// policy reads the whole file.
func (d *decoder) policy(data []byte) *Policy {
	p := &Policy{}
	if len(data) > MaxSize {
		d.fail(&yaml.Node{}, "the file is larger than %d bytes, which is too large for a policy", MaxSize)
		return p
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || doc.Content[0].Tag == "!!null") {
		d.fail(&yaml.Node{}, "the policy is empty: list its rules%s", orNone)
		return p
	} else if err != nil {
		d.syntax(err)
		return p
	}
	if err := dec.Decode(&second); err == nil {
		d.fail(&second, "a second document starts here: a file holds one policy")
		return p
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
		return p
	}
	before, listed := len(d.faults), false
	d.section(doc.Content[0], "a policy", fields{"rules": func(n *yaml.Node) { listed, p.Rules = true, d.rules(n) }})
	if !listed && len(d.faults) == before {
		d.fail(doc.Content[0], "the policy has no rules: list them%s", orNone)
	}
	return p
}

// orNone says how to write a policy that limits nothing.
const orNone = ", or write rules: [] to limit nothing"

// fields are the keys of a section, and what reads each.
type fields map[string]func(n *yaml.Node)

// section reads a map with known keys, each once.
func (d *decoder) section(n *yaml.Node, what string, known fields) {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s is a map of keys and values, this is %s", what, describe(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolved(n.Content[i+1])
		read := known[k.Value]
		switch {
		case read == nil || k.Kind != yaml.ScalarNode:
			names := known.names()
			hint := ""
			if w := nearest.Word(k.Value, names); w != "" {
				hint = ", did you mean " + w + "?"
			}
			d.fail(k, "%s has no key %s%s (its keys: %s)", what, short(k.Value), hint, strings.Join(names, ", "))
		case seen[k.Value] != 0:
			d.fail(k, "%s is given twice: first at line %d", k.Value, seen[k.Value])
		case v.Tag == "!!null":
			d.fail(k, "%s has no value: give it one, or leave the key out", k.Value)
		default:
			read(v)
		}
		if seen[k.Value] == 0 {
			seen[k.Value] = k.Line
		}
	}
}

// names lists the keys in the order of the alphabet.
func (f fields) names() []string {
	var names []string
	for n := range f {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// resolved is what an alias stands for. The parts of a policy that are read lie four levels deep at most, so that aliases of
// aliases can't stand for much.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// describe names what a node is, for "wants X, got Y".
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return short(n.Value)
}

// short quotes a text of the user, cut if it is long.
func short(s string) string {
	if len(s) > 60 {
		return strconv.Quote(s[:60]) + "..."
	}
	return strconv.Quote(s)
}
