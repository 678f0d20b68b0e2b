package strict

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Variants is a map whose keys depend on its kind.
type Variants[T any] struct {
	// What names the whole in messages: "workload".
	What  string
	Kinds []Variant[T]
	// Kind is where T keeps it; nil if there is only one variant, which then has
	// no key for it.
	Kind func(*T) *string
	// Implied is the kind of an entry of that name that has none, or "".
	Implied func(name string) string
}

// A Variant is one kind, and its keys.
type Variant[T any] struct {
	Kind    string
	Section Section[T]
}

// KindNames lists the kinds.
func (v Variants[T]) KindNames() []string {
	var names []string
	for _, k := range v.Kinds {
		names = append(names, k.Kind)
	}
	return names
}

// pick finds the section for n, and sets the kind of dst.
func (v Variants[T]) pick(d *Decoder, n *yaml.Node, path, name string, dst *T) (Section[T], bool) {
	if v.Kind == nil {
		return v.Kinds[0].Section, true
	}
	kind, at := v.Implied(name), n
	if k := Child(n, "kind"); k != nil {
		d.Nodes[Join(path, "kind")] = k
		kind, at = k.Value, k
		if k.Kind != yaml.ScalarNode {
			d.FailAt(k, path, "kind wants one of %s, got %s", strings.Join(v.KindNames(), ", "), Describe(k))
			return Section[T]{}, false
		}
	}
	i := slices.IndexFunc(v.Kinds, func(k Variant[T]) bool { return k.Kind == kind })
	switch {
	case i >= 0:
		*v.Kind(dst) = kind
		return v.WithKind(v.Kinds[i], name), true
	case at == n:
		d.Fail(path, "this %s needs a kind, since %s is not the name of one: %s", v.What, Short(name), strings.Join(v.KindNames(), ", "))
	default:
		d.FailAt(at, path, "%s is not a kind of %s%s (there are %s)", Short(kind), v.What, DidYouMean(kind, v.KindNames()), strings.Join(v.KindNames(), ", "))
	}
	return Section[T]{}, false
}

// WithKind adds the key "kind" to a variant's section. It is read by pick, and
// written unless the name says it.
func (v Variants[T]) WithKind(k Variant[T], name string) Section[T] {
	s := k.Section
	s.Fields = append([]Field[T]{{
		Name:   "kind",
		Doc:    "The kind of " + v.What + ".",
		Decode: func(*Decoder, *yaml.Node, string, *T) {},
		Encode: func(*T) *yaml.Node {
			if v.Implied(name) == k.Kind {
				return nil
			}
			return Text(k.Kind)
		},
		Schema: func(bool) Object { return Object{"const": k.Kind} },
	}}, s.Fields...)
	return s
}

func (v Variants[T]) Decode(d *Decoder, n *yaml.Node, path, name string, dst *T) {
	if !d.isMap(n, path) {
		return
	}
	if s, ok := v.pick(d, n, path, name, dst); ok {
		s.Decode(d, n, path, dst)
	}
}

func (v Variants[T]) Encode(name string, src *T) *yaml.Node {
	if v.Kind == nil {
		return v.Kinds[0].Section.Encode(src)
	}
	for _, k := range v.Kinds {
		if k.Kind == *v.Kind(src) {
			return v.WithKind(k, name).Encode(src)
		}
	}
	return nil
}

// Schema describes an entry of that name, "" for any other name.
func (v Variants[T]) Schema(name string, partial bool) Object {
	var any []any
	for _, k := range v.Kinds {
		s := k.Section
		implied := true
		if v.Kind != nil {
			s = v.WithKind(k, name)
			implied = v.Implied(name) == k.Kind
		}
		o := s.Schema(partial)
		if !implied && !partial {
			required, _ := o["required"].([]string)
			o["required"] = append(required, "kind")
		}
		if _, ok := o["required"]; !ok && !partial {
			o["type"] = []string{"object", "null"}
		}
		any = append(any, o)
	}
	return Object{"anyOf": any}
}
