package plan

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A value knows one kind of value in all its forms: how it is read, how it is
// written, and its JSON schema.
type value[V any] interface {
	// decode reads n into dst, or adds faults to d.
	decode(d *decoder, n *yaml.Node, path string, dst *V)
	// encode returns nil for a value that need not be written.
	encode(src *V) *yaml.Node
	// schema describes the value. In a partial schema, that of the quick
	// section, nothing is required.
	schema(partial bool) object
}

// object is a JSON object.
type object = map[string]any

// A field is one key of a section.
type field[T any] struct {
	name, doc string
	required  bool
	// fullOnly keeps the key out of the quick section.
	fullOnly bool
	decode   func(d *decoder, n *yaml.Node, path string, dst *T)
	encode   func(src *T) *yaml.Node
	schema   func(partial bool) object
}

// key makes the field for a part of T.
func key[T, V any](name, doc string, v value[V], part func(*T) *V) field[T] {
	return field[T]{
		name: name, doc: doc,
		decode: func(d *decoder, n *yaml.Node, path string, dst *T) { v.decode(d, n, path, part(dst)) },
		encode: func(src *T) *yaml.Node { return v.encode(part(src)) },
		schema: v.schema,
	}
}

// must makes a field required.
func must[T any](f field[T]) field[T] { f.required = true; return f }

// A section is a map with known keys. It is itself a value.
type section[T any] struct {
	// what names it in messages: "a block job".
	what   string
	fields []field[T]
	// check looks at a decoded section as a whole; nil: nothing to check.
	check func(d *decoder, path string, v *T)
}

func (s section[T]) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

func (s section[T]) decode(d *decoder, n *yaml.Node, path string, dst *T) {
	before := len(d.list)
	if !d.isMap(n, path) {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := join(path, k.Value)
		d.nodes[at] = k
		j := slices.IndexFunc(s.fields, func(f field[T]) bool { return f.name == k.Value })
		if j < 0 {
			d.failAt(k, path, "%s has no key %s%s (its keys: %s)", s.what, short(k.Value), didYouMean(k.Value, s.names()), strings.Join(s.names(), ", "))
			continue
		}
		if v.Tag == "!!null" {
			d.failAt(k, at, "has no value: give it one, or leave the key out")
			continue
		}
		s.fields[j].decode(d, v, at, dst)
	}
	for _, f := range s.fields {
		if f.required && keyNode(n, f.name) == nil {
			d.fail(path, "%s needs %s (%s)", s.what, f.name, firstClause(f.doc))
		}
	}
	// A whole is only looked at when its parts are sound: one fault, one message.
	if s.check != nil && len(d.list) == before {
		s.check(d, path, dst)
	}
}

// firstClause returns a doc comment up to its first period or colon.
func firstClause(doc string) string {
	if i := strings.IndexAny(doc, ".:;"); i > 0 {
		return strings.ToLower(doc[:1]) + doc[1:i]
	}
	return doc
}

func (s section[T]) encode(src *T) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, f := range s.fields {
		if n := f.encode(src); n != nil {
			out.Content = append(out.Content, text(f.name), n)
		}
	}
	return out
}

func (s section[T]) schema(partial bool) object {
	properties, required := object{}, []string{}
	for _, f := range s.fields {
		if f.fullOnly && partial {
			continue
		}
		p := f.schema(partial)
		p["description"] = f.doc
		properties[f.name] = p
		if f.required && !partial {
			required = append(required, f.name)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// A decoder holds what is known while one tree is decoded.
type decoder struct {
	*faults
	// nodes holds the node of every path that was met: the key of an entry, or
	// the item of a list.
	nodes map[string]*yaml.Node
	// flags holds the flag that made a node, for those not from the file.
	flags map[*yaml.Node]string
}

func newDecoder(f *faults, flags map[*yaml.Node]string) *decoder {
	return &decoder{faults: f, nodes: map[string]*yaml.Node{}, flags: flags}
}

// failAt adds a fault at a node; path, unless empty, leads the message.
func (d *decoder) failAt(n *yaml.Node, path, format string, args ...any) {
	e := Error{File: d.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
	if flag := d.flags[n]; flag != "" {
		e = Error{Flag: flag, Message: e.Message}
	}
	if path != "" {
		e.Message = path + ": " + e.Message
	}
	d.add(e)
}

// fail adds a fault at a path, or at the nearest one above it that is in the
// file.
func (d *decoder) fail(path, format string, args ...any) {
	for p := path; ; {
		if n := d.nodes[p]; n != nil {
			d.failAt(n, path, format, args...)
			return
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 && p == "" {
			d.add(Error{File: d.file, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)})
			return
		}
		p = p[:max(i, 0)]
	}
}

// has reports whether a path was in the file.
func (d *decoder) has(path string) bool { return d.nodes[path] != nil }

// isMap reports whether n is a map; nothing at all is an empty one.
func (d *decoder) isMap(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode || n.Tag == "!!null" {
		return true
	}
	d.failAt(n, path, "wants a map of keys and values, got %s", describe(n))
	return false
}

// join makes the path of a key.
func join(path, key string) string {
	if len(key) > maxName {
		key = key[:maxName]
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
