package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxName bounds names, in bytes: they become parts of names of containers.
const maxName = 63

// namePattern is what names look like. There are no dots, because --set uses
// them, and no slashes, because keys of cells do.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`

var isName = regexp.MustCompile(namePattern).MatchString

// nameFault reports what is wrong with a name.
func nameFault(s string) string {
	return fmt.Sprintf("%s is no name: use up to %d letters, digits, - and _, and begin with a letter or digit", short(s), maxName)
}

// A named is a map from names to entries, kept in the order of the file.
type named[T any] struct {
	entry variants[T]
	name  func(*T) *string
}

func (m named[T]) decode(d *decoder, n *yaml.Node, path string, dst *[]T) {
	if n.Kind != yaml.MappingNode {
		d.failAt(n, path, "wants a map from names to %s settings, got %s", m.entry.what, describe(n))
		return
	}
	if len(n.Content) == 0 {
		d.fail(path, "is empty, so there is nothing to run: it needs one %s at least", m.entry.what)
	}
	var list []T
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if !isName(k.Value) {
			d.failAt(k, path, "%s", nameFault(k.Value))
			continue
		}
		at := join(path, k.Value)
		d.nodes[at] = k
		var v T
		*m.name(&v) = k.Value
		m.entry.decode(d, n.Content[i+1], at, k.Value, &v)
		list = append(list, v)
	}
	*dst = list
}

func (m named[T]) encode(src *[]T) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := range *src {
		v := &(*src)[i]
		name := *m.name(v)
		out.Content = append(out.Content, text(name), m.entry.encode(name, v))
	}
	return out
}

func (m named[T]) schema(partial bool) object {
	o := object{
		"type":                 "object",
		"propertyNames":        object{"pattern": namePattern},
		"additionalProperties": m.entry.schema("", partial),
	}
	if !partial {
		o["minProperties"] = 1
	}
	// A name that is a kind needs no kind: such names have schemas of their own.
	if own := m.ownNames(partial); len(own) > 0 {
		o["properties"] = own
	}
	return o
}

func (m named[T]) ownNames(partial bool) object {
	own := object{}
	if m.entry.kind == nil || partial {
		return own
	}
	for _, k := range m.entry.kindNames() {
		if m.entry.implied("") == "" && m.entry.implied(k) == k {
			own[k] = m.entry.schema(k, partial)
		}
	}
	return own
}

// A list is a list of values; if one is set, a single value needs no brackets.
type list[V any] struct {
	what string
	item value[V]
	one  bool
	// min is the least number of items.
	min int
}

func (l list[V]) decode(d *decoder, n *yaml.Node, path string, dst *[]V) {
	items := n.Content
	switch {
	case n.Kind != yaml.SequenceNode && l.one:
		items = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		d.failAt(n, path, "wants a list of %s, got %s", l.what, describe(n))
		return
	case len(items) < l.min:
		d.fail(path, "is empty: it needs one of %s at least", l.what)
	}
	var out []V
	for i, item := range items {
		at := join(path, strconv.Itoa(i))
		d.nodes[at] = item
		if item.Tag == "!!null" {
			d.failAt(item, path, "has an empty item")
			continue
		}
		var v V
		l.item.decode(d, item, at, &v)
		out = append(out, v)
	}
	*dst = out
}

func (l list[V]) encode(src *[]V) *yaml.Node {
	if len(*src) == 0 {
		return nil
	}
	if len(*src) == 1 && l.one {
		return l.item.encode(&(*src)[0])
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range *src {
		out.Content = append(out.Content, l.item.encode(&(*src)[i]))
	}
	return out
}

func (l list[V]) schema(partial bool) object {
	o := object{"type": "array", "items": l.item.schema(partial), "minItems": l.min}
	if l.one {
		return object{"anyOf": []any{l.item.schema(partial), o}}
	}
	return o
}

// An optional is a section that may be left out.
type optional[T any] struct{ section[T] }

func (o optional[T]) decode(d *decoder, n *yaml.Node, path string, dst **T) {
	*dst = new(T)
	o.section.decode(d, n, path, *dst)
}

func (o optional[T]) encode(src **T) *yaml.Node {
	if *src == nil {
		return nil
	}
	return o.section.encode(*src)
}

// An options is a map of free keys, such as a volume driver's.
type options struct{}

func (options) decode(d *decoder, n *yaml.Node, path string, dst *map[string]string) {
	if n.Kind != yaml.MappingNode {
		d.failAt(n, path, "wants a map of options, got %s", describe(n))
		return
	}
	key, val := words("an option", 255, false), words("a value", 4096, false)
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := *n.Content[i], *n.Content[i+1]
		d.nodes[join(path, k.Value)] = n.Content[i]
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			d.failAt(n.Content[i+1], join(path, k.Value), "wants a text, got %s", describe(&v))
			continue
		}
		// An option is text whatever it looks like: 4 and true are passed on as written.
		k.Tag, v.Tag = "!!str", "!!str"
		_, err := key.parse(&k)
		if err == nil && v.Value != "" {
			_, err = val.parse(&v)
		}
		if err != nil {
			d.failAt(n.Content[i], path, "%v", err)
			continue
		}
		out[k.Value] = v.Value
	}
	if len(out) > 0 {
		*dst = out
	}
}

func (options) encode(src *map[string]string) *yaml.Node {
	if len(*src) == 0 {
		return nil
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	keys := make([]string, 0, len(*src))
	for k := range *src {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		out.Content = append(out.Content, text(k), text((*src)[k]))
	}
	return out
}

func (options) schema(bool) object {
	return object{"type": "object", "additionalProperties": object{"type": []string{"string", "number", "boolean"}}}
}
