// Package strict reads YAML that people write, and tolerates no mistakes: a setting with an unknown key would be
// lost.
//
// A Document turns text into a tree, without aliases and merge keys and with each key once. From there a file is read in one
// of two ways. A Section is a table of keys: from one table come the reader, the writer and the JSON schema, and each of its
// values is a Value. Where there is nothing to write back, Decoder.Map calls a function for each key.
//
// Faults have their line and column, and name the nearest key that exists. They are collected: a file is read to its end,
// and all faults come as Errors, by their place in the file.
//
// Easily got wrong: YAML reads 1_000, on and 010 as values that the writer may not have meant. A Scalar checks the
// text as it is written, and the tag that YAML gave it.
package strict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Value knows one kind of value in all its forms: how it is read, how it is
// written, and its JSON schema.
type Value[V any] interface {
	// Decode reads n into dst, or adds faults to d.
	Decode(d *Decoder, n *yaml.Node, path string, dst *V)
	// Encode returns nil for a value that need not be written.
	Encode(src *V) *yaml.Node
	// Schema describes the value. In a partial schema, that of the quick
	// section, nothing is required.
	Schema(partial bool) Object
}

// Object is a JSON object.
type Object = map[string]any

// A Field is one key of a section.
type Field[T any] struct {
	Name, Doc string
	required  bool
	// FullOnly keeps the key out of the quick section.
	FullOnly bool
	Decode   func(d *Decoder, n *yaml.Node, path string, dst *T)
	Encode   func(src *T) *yaml.Node
	Schema   func(partial bool) Object
}

// Key makes the field for a part of T.
func Key[T, V any](name, doc string, v Value[V], part func(*T) *V) Field[T] {
	return Field[T]{
		Name: name, Doc: doc,
		Decode: func(d *Decoder, n *yaml.Node, path string, dst *T) { v.Decode(d, n, path, part(dst)) },
		Encode: func(src *T) *yaml.Node { return v.Encode(part(src)) },
		Schema: v.Schema,
	}
}

// Must makes a field required.
func Must[T any](f Field[T]) Field[T] { f.required = true; return f }

// A Section is a map with known keys. It is itself a value.
type Section[T any] struct {
	// What names it in messages: "a block job".
	What   string
	Fields []Field[T]
	// Check looks at a decoded section as a whole; nil: nothing to check.
	Check func(d *Decoder, path string, v *T)
}

// Names lists the section's keys.
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
	read := map[string]func(*yaml.Node, string){}
	for _, f := range s.Fields {
		read[f.Name] = func(v *yaml.Node, at string) { f.Decode(d, v, at, dst) }
	}
	d.keys(n, path, s.What, s.Names(), read)
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

// Map reads a map with known keys: read has a function for each, which gets the value and its path. It reports whether n is
// a map. what names it in messages: "a rule".
func (d *Decoder) Map(n *yaml.Node, path, what string, read map[string]func(v *yaml.Node, path string)) bool {
	if n.Kind != yaml.MappingNode {
		d.FailAt(n, path, "%s is a map of keys and values, this is %s", what, Describe(n))
		return false
	}
	d.keys(n, path, what, slices.Sorted(maps.Keys(read)), read)
	return true
}

// keys calls the function of each key of n. names are the known ones, in the order for messages.
func (d *Decoder) keys(n *yaml.Node, path, what string, names []string, read map[string]func(*yaml.Node, string)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := Join(path, k.Value)
		d.Nodes[at] = k
		switch {
		case read[k.Value] == nil:
			d.FailAt(k, path, "%s has no key %s%s (its keys: %s)", what, Short(k.Value), DidYouMean(k.Value, names), strings.Join(names, ", "))
		case v.Tag == "!!null":
			d.FailAt(k, at, "has no value: give it one, or leave the key out")
		default:
			read[k.Value](v, at)
		}
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

// A Decoder holds what is known while one tree is decoded.
type Decoder struct {
	*Faults
	// Nodes holds the node of every path that was met: the key of an entry, or
	// the item of a list.
	Nodes map[string]*yaml.Node
	// Flags holds the flag that made a node, for those not from the file.
	flags map[*yaml.Node]string
}

func NewDecoder(f *Faults, flags map[*yaml.Node]string) *Decoder {
	return &Decoder{Faults: f, Nodes: map[string]*yaml.Node{}, flags: flags}
}

// FailAt adds a fault at a node; path, unless empty, leads the message.
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

// Fail adds a fault at a path, or at the nearest one above it that is in the
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

// Has reports whether a path was in the file.
func (d *Decoder) Has(path string) bool { return d.Nodes[path] != nil }

// IsMap reports whether n is a map; nothing at all is an empty one.
func (d *Decoder) isMap(n *yaml.Node, path string) bool {
	if n.Kind == yaml.MappingNode || n.Tag == "!!null" {
		return true
	}
	d.FailAt(n, path, "wants a map of keys and values, got %s", Describe(n))
	return false
}

// Join makes the path of a key.
func Join(path, key string) string {
	if len(key) > MaxName {
		key = key[:MaxName]
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
