package strict

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// MaxName bounds names, in bytes: they become parts of names of containers.
const MaxName = 63

// NamePattern is what names look like. There are no dots, because --set uses
// them, and no slashes, because keys of cells do.
const NamePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`

// IsName reports whether a text is a name.
var IsName = regexp.MustCompile(NamePattern).MatchString

// NameFault reports what is wrong with a name.
func NameFault(s string) string {
	return fmt.Sprintf("%s is not a name: use up to %d letters, digits, - and _, and begin with a letter or digit", Short(s), MaxName)
}

// A Named is a map from names to entries, kept in the order of the file.
type Named[T any] struct {
	Entry Variants[T]
	Name  func(*T) *string
}

func (m Named[T]) Decode(d *Decoder, n *yaml.Node, path string, dst *[]T) {
	if n.Kind != yaml.MappingNode {
		d.FailAt(n, path, "wants a map from names to %s settings, got %s", m.Entry.What, Describe(n))
		return
	}
	if len(n.Content) == 0 {
		d.Fail(path, "is empty, so there is nothing to run: it needs one %s at least", m.Entry.What)
	}
	var list []T
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if !IsName(k.Value) {
			d.FailAt(k, path, "%s", NameFault(k.Value))
			continue
		}
		at := Join(path, k.Value)
		d.Nodes[at] = k
		var v T
		*m.Name(&v) = k.Value
		m.Entry.Decode(d, n.Content[i+1], at, k.Value, &v)
		list = append(list, v)
	}
	*dst = list
}

func (m Named[T]) Encode(src *[]T) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := range *src {
		v := &(*src)[i]
		name := *m.Name(v)
		out.Content = append(out.Content, Text(name), m.Entry.Encode(name, v))
	}
	return out
}

func (m Named[T]) Schema(partial bool) Object {
	o := Object{
		"type":                 "object",
		"propertyNames":        Object{"pattern": NamePattern},
		"additionalProperties": m.Entry.Schema("", partial),
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

func (m Named[T]) ownNames(partial bool) Object {
	own := Object{}
	if m.Entry.Kind == nil || partial {
		return own
	}
	for _, k := range m.Entry.KindNames() {
		if m.Entry.Implied("") == "" && m.Entry.Implied(k) == k {
			own[k] = m.Entry.Schema(k, partial)
		}
	}
	return own
}

// A List is a list of values; if One is set, a single value needs no brackets.
type List[V any] struct {
	What string
	Item Value[V]
	One  bool
	// Min is the least number of items.
	Min int
}

func (l List[V]) Decode(d *Decoder, n *yaml.Node, path string, dst *[]V) {
	items := n.Content
	switch {
	case n.Kind != yaml.SequenceNode && l.One:
		items = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode:
		d.FailAt(n, path, "wants a list of %s, got %s", l.What, Describe(n))
		return
	case len(items) < l.Min:
		d.Fail(path, "is empty: it needs one of %s at least", l.What)
	}
	var out []V
	for i, item := range items {
		at := Join(path, strconv.Itoa(i))
		d.Nodes[at] = item
		if item.Tag == "!!null" {
			d.FailAt(item, path, "has an empty item")
			continue
		}
		var v V
		l.Item.Decode(d, item, at, &v)
		out = append(out, v)
	}
	*dst = out
}

func (l List[V]) Encode(src *[]V) *yaml.Node {
	if len(*src) == 0 {
		return nil
	}
	if len(*src) == 1 && l.One {
		return l.Item.Encode(&(*src)[0])
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range *src {
		out.Content = append(out.Content, l.Item.Encode(&(*src)[i]))
	}
	return out
}

func (l List[V]) Schema(partial bool) Object {
	o := Object{"type": "array", "items": l.Item.Schema(partial), "minItems": l.Min}
	if l.One {
		return Object{"anyOf": []any{l.Item.Schema(partial), o}}
	}
	return o
}

// An Optional is a section that may be left out.
type Optional[T any] struct{ Section[T] }

func (o Optional[T]) Decode(d *Decoder, n *yaml.Node, path string, dst **T) {
	*dst = new(T)
	o.Section.Decode(d, n, path, *dst)
}

func (o Optional[T]) Encode(src **T) *yaml.Node {
	if *src == nil {
		return nil
	}
	return o.Section.Encode(*src)
}

// A TextMap is a map of free keys, such as a volume driver's.
type TextMap struct{}

func (TextMap) Decode(d *Decoder, n *yaml.Node, path string, dst *map[string]string) {
	if n.Kind != yaml.MappingNode {
		d.FailAt(n, path, "wants a map of options, got %s", Describe(n))
		return
	}
	key, val := Words("an option", 255, false), Words("a value", 4096, false)
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := *n.Content[i], *n.Content[i+1]
		d.Nodes[Join(path, k.Value)] = n.Content[i]
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			d.FailAt(n.Content[i+1], Join(path, k.Value), "wants a text, got %s", Describe(&v))
			continue
		}
		// An option is text whatever it looks like: 4 and true are passed on as written.
		k.Tag, v.Tag = "!!str", "!!str"
		_, err := key.Parse(&k)
		if err == nil && v.Value != "" {
			_, err = val.Parse(&v)
		}
		if err != nil {
			d.FailAt(n.Content[i], path, "%v", err)
			continue
		}
		out[k.Value] = v.Value
	}
	if len(out) > 0 {
		*dst = out
	}
}

func (TextMap) Encode(src *map[string]string) *yaml.Node {
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
		out.Content = append(out.Content, Text(k), Text((*src)[k]))
	}
	return out
}

func (TextMap) Schema(bool) Object {
	return Object{"type": "object", "additionalProperties": Object{"type": []string{"string", "number", "boolean"}}}
}
