package plan

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
		d.failAt(at, path, "%s is no kind of %s%s (there are %s)", short(kind), v.what, didYouMean(kind, v.kindNames()), strings.Join(v.kindNames(), ", "))
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
