package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxName bounds names, in bytes: they become parts of names of containers.
const maxName = 63

// namePattern is what names look like. There are no dots, because --set uses
// them, and no slashes, because keys of cells do.
const namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`

var isName = regexp.MustCompile(namePattern).MatchString

// nameFault says what is wrong with a name.
func nameFault(s string) string {
	return fmt.Sprintf("%s is no name: use up to %d letters, digits, - and _, and begin with a letter or digit", short(s), maxName)
}

// A variants is a map whose keys depend on its kind.
type variants[T any] struct {
	// what names the whole in messages: "workload".
	what  string
	kinds []variant[T]
	// kind is where T keeps it; nil if there is only one variant, which then has
	// no key for it.
	kind func(*T) *string
	// implied is the kind of an entry of that name that has none, or "".
	implied func(name string) string
}

type variant[T any] struct {
	kind    string
	section section[T]
}

func (v variants[T]) kindNames() []string {
	var names []string
	for _, k := range v.kinds {
		names = append(names, k.kind)
	}
	return names
}

// pick finds the section for n, and sets the kind of dst.
func (v variants[T]) pick(d *decoder, n *yaml.Node, path, name string, dst *T) (section[T], bool) {
	if v.kind == nil {
		return v.kinds[0].section, true
	}
	kind, at := v.implied(name), n
	if k := child(n, "kind"); k != nil {
		d.nodes[join(path, "kind")] = k
		kind, at = k.Value, k
		if k.Kind != yaml.ScalarNode {
			d.failAt(k, path, "kind wants one of %s, got %s", strings.Join(v.kindNames(), ", "), describe(k))
			return section[T]{}, false
		}
	}
	i := slices.IndexFunc(v.kinds, func(k variant[T]) bool { return k.kind == kind })
	switch {
	case i >= 0:
		*v.kind(dst) = kind
		return v.withKind(v.kinds[i], name), true
	case at == n:
		d.fail(path, "this %s needs a kind, since %s is not the name of one: %s", v.what, short(name), strings.Join(v.kindNames(), ", "))
	default:
		d.failAt(at, path, "%s is no kind of %s%s (there are %s)", short(kind), v.what, nearest(kind, v.kindNames()), strings.Join(v.kindNames(), ", "))
	}
	return section[T]{}, false
}

// withKind adds the key "kind" to a variant's section. It is read by pick, and
// written unless the name says it.
func (v variants[T]) withKind(k variant[T], name string) section[T] {
	s := k.section
	s.fields = append([]field[T]{{
		name:   "kind",
		doc:    "The kind of " + v.what + ".",
		decode: func(*decoder, *yaml.Node, string, *T) {},
		encode: func(*T) *yaml.Node {
			if v.implied(name) == k.kind {
				return nil
			}
			return text(k.kind)
		},
		schema: func(bool) object { return object{"const": k.kind} },
	}}, s.fields...)
	return s
}

func (v variants[T]) decode(d *decoder, n *yaml.Node, path, name string, dst *T) {
	if !d.isMap(n, path) {
		return
	}
	if s, ok := v.pick(d, n, path, name, dst); ok {
		s.decode(d, n, path, dst)
	}
}

func (v variants[T]) encode(name string, src *T) *yaml.Node {
	if v.kind == nil {
		return v.kinds[0].section.encode(src)
	}
	for _, k := range v.kinds {
		if k.kind == *v.kind(src) {
			return v.withKind(k, name).encode(src)
		}
	}
	return nil
}

// schema describes an entry of that name, "" for any other name.
func (v variants[T]) schema(name string, partial bool) object {
	var any []any
	for _, k := range v.kinds {
		s := k.section
		implied := true
		if v.kind != nil {
			s = v.withKind(k, name)
			implied = v.implied(name) == k.kind
		}
		o := s.schema(partial)
		if !implied && !partial {
			required, _ := o["required"].([]string)
			o["required"] = append(required, "kind")
		}
		if _, ok := o["required"]; !ok && !partial {
			o["type"] = []string{"object", "null"}
		}
		any = append(any, o)
	}
	return object{"anyOf": any}
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
