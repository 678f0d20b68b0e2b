package strict

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
	Decode(d *Decoder, n *yaml.Node, path string, dst *V)
	// encode returns nil for a value that need not be written.
	Encode(src *V) *yaml.Node
	// schema describes the value. In a partial schema, that of the quick
	// section, nothing is required.
	Schema(partial bool) Object
}

// object is a JSON object.
type Object = map[string]any

// A field is one key of a section.
type Field[T any] struct {
	Name, Doc string
	required  bool
	// fullOnly keeps the key out of the quick section.
	FullOnly bool
	Decode   func(d *Decoder, n *yaml.Node, path string, dst *T)
	Encode   func(src *T) *yaml.Node
	Schema   func(partial bool) Object
}

// key makes the field for a part of T.
func Key[T, V any](name, doc string, v value[V], part func(*T) *V) Field[T] {
	return Field[T]{
		Name: name, Doc: doc,
		Decode: func(d *Decoder, n *yaml.Node, path string, dst *T) { v.Decode(d, n, path, part(dst)) },
		Encode: func(src *T) *yaml.Node { return v.Encode(part(src)) },
		Schema: v.Schema,
	}
}

// must makes a field required.
func Must[T any](f Field[T]) Field[T] { f.required = true; return f }

// A section is a map with known keys. It is itself a value.
type Section[T any] struct {
	// what names it in messages: "a block job".
	What   string
	Fields []Field[T]
	// check looks at a decoded section as a whole; nil: nothing to check.
	Check func(d *Decoder, path string, v *T)
}

func (s Section[T]) Names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

func (s Section[T]) Decode(d *Decoder, n *yaml.Node, path string, dst *T) {
	before := len(d.Found)
	if !d.isMap(n, path) {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := Join(path, k.Value)
		d.Nodes[at] = k
		j := slices.IndexFunc(s.Fields, func(f Field[T]) bool { return f.Name == k.Value })
		if j < 0 {
			d.FailAt(k, path, "%s has no key %s%s (its keys: %s)", s.What, Short(k.Value), DidYouMean(k.Value, s.Names()), strings.Join(s.Names(), ", "))
			continue
		}
		if v.Tag == "!!null" {
			d.FailAt(k, at, "has no value: give it one, or leave the key out")
			continue
		}
		s.Fields[j].Decode(d, v, at, dst)
	}
	for _, f := range s.Fields {
		if f.required && KeyNode(n, f.Name) == nil {
			d.Fail(path, "%s needs %s (%s)", s.What, f.Name, firstClause(f.Doc))
		}
	}
	// A whole is only looked at when its parts are sound: one fault, one message.
	if s.Check != nil && len(d.Found) == before {
		s.Check(d, path, dst)
	}
}

// firstClause returns a doc comment up to its first period or colon.
func firstClause(doc string) string {
	if i := strings.IndexAny(doc, ".:;"); i > 0 {
		return strings.ToLower(doc[:1]) + doc[1:i]
	}
	return doc
}

func (s Section[T]) Encode(src *T) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, f := range s.Fields {
		if n := f.Encode(src); n != nil {
			out.Content = append(out.Content, Text(f.Name), n)
		}
	}
	return out
}

func (s Section[T]) Schema(partial bool) Object {
	properties, required := Object{}, []string{}
	for _, f := range s.Fields {
		if f.FullOnly && partial {
			continue
		}
		p := f.Schema(partial)
		p["description"] = f.Doc
		properties[f.Name] = p
		if f.required && !partial {
			required = append(required, f.Name)
		}
	}
	o := Object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// A decoder holds what is known while one tree is decoded.
type Decoder struct {
	*Faults
	// nodes holds the node of every path that was met: the key of an entry, or
	// the item of a list.
	Nodes map[string]*yaml.Node
	// flags holds the flag that made a node, for those not from the file.
	flags map[*yaml.Node]string
}

func NewDecoder(f *Faults, flags map[*yaml.Node]string) *Decoder {
	return &Decoder{Faults: f, Nodes: map[string]*yaml.Node{}, flags: flags}
}

// failAt adds a fault at a node; path, unless empty, leads the message.
func (d *Decoder) FailAt(n *yaml.Node, path, format string, args ...any) {
	e := Error{File: d.File, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
	if flag := d.flags[n]; flag != "" {
		e = Error{Flag: flag, Message: e.Message}
	}
	if path != "" {
		e.Message = path + ": " + e.Message
	}
	d.Add(e)
}

// fail adds a fault at a path, or at the nearest one above it that is in the
// file.
func (d *Decoder) Fail(path, format string, args ...any) {
	for p := path; ; {
		if n := d.Nodes[p]; n != nil {
			d.FailAt(n, path, format, args...)
			return
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 && p == "" {
			d.Add(Error{File: d.File, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)})
			return
		}
		p = p[:max(i, 0)]
	}
}

// has reports whether a path was in the file.
func (d *Decoder) Has(path string) bool { return d.Nodes[path] != nil }

// isMap reports whether n is a map; nothing at all is an empty one.
func (d *Decoder) isMap(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode || n.Tag == "!!null" {
		return true
	}
	d.FailAt(n, path, "wants a map of keys and values, got %s", Describe(n))
	return false
}

// join makes the path of a key.
func Join(path, key string) string {
	if len(key) > MaxName {
		key = key[:MaxName]
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
