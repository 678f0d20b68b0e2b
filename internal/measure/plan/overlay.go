package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/place"
)

// mergeQuick returns a copy of root with the quick section q merged over it: maps key by key, everything else as a whole.
func mergeQuick(f *strict.Faults, root, q *yaml.Node) *yaml.Node {
	out := clone(root)
	remove(out, "quick")
	d := strict.NewDecoder(f, nil)
	if q.Kind != yaml.MappingNode {
		d.FailAt(q, "quick", "wants a map of the plan's keys, got %s", strict.Describe(q))
		return out
	}
	for _, key := range []string{"name", "quick"} {
		if k := strict.KeyNode(q, key); k != nil {
			d.FailAt(k, "quick", "%s can't be changed for quick runs", key)
			return out
		}
	}
	overlay(d, out, q, "")
	return out
}

// overlay merges map q into map base.
func overlay(d *strict.Decoder, base, q *yaml.Node, path string) {
	for i := 0; i+1 < len(q.Content); i += 2 {
		k, v := q.Content[i], q.Content[i+1]
		at := strict.Join(path, k.Value)
		old := strict.Child(base, k.Value)
		switch {
		case v.Tag == "!!null":
			d.FailAt(k, strict.Join("quick", at), "has no value: give it one, or leave the key out")
		case old == nil && (path == "workloads" || path == "places" || path == "limits"):
			d.FailAt(k, "quick", "the plan's %s have no %s%s", path, strict.Short(k.Value), strict.DidYouMean(k.Value, keys(base)))
		case old != nil && old.Kind == yaml.MappingNode && v.Kind == yaml.MappingNode:
			overlay(d, old, v, at)
		default:
			put(base, k.Value, v)
			*strict.KeyNode(base, k.Value) = *k
		}
	}
}

// An assigner puts the values of flags into a tree.
type assigner struct {
	*strict.Faults
	// flags holds the flag of every node that came from one.
	flags map[*yaml.Node]string
}

// assigned is the text of a value.
var assigned = strict.Document{What: "value", MaxNodes: document.MaxNodes}

// assign applies one "path=value" to a tree.
func (a assigner) assign(root *yaml.Node, assignment, flag string) {
	fail := func(format string, args ...any) {
		a.Add(strict.Error{Flag: flag, Message: fmt.Sprintf(format, args...)})
	}
	path, text, ok := strings.Cut(assignment, "=")
	if !ok || path == "" || strings.TrimSpace(text) == "" {
		fail("wants KEY=VALUE, such as blocks=10 or workloads.append.count=100")
		return
	}
	own := &strict.Faults{File: flag}
	value := assigned.Parse(own, []byte(text))
	if len(own.Found) > 0 || value == nil {
		for _, e := range own.Found {
			fail("%s", e.Message)
		}
		return
	}
	a.mark(value, flag)
	parts := strings.Split(path, ".")
	at := root
	for i, part := range parts[:len(parts)-1] {
		next := step(at, part)
		if next == nil {
			fail("there is no %s in the plan%s (%s has %s)", strings.Join(parts[:i+1], "."), strict.DidYouMean(part, keys(at)), cmp.Or(strings.Join(parts[:i], "."), "it"), cmp.Or(strings.Join(keys(at), ", "), "no keys"))
			return
		}
		at = next
	}
	last := parts[len(parts)-1]
	if at.Kind != yaml.MappingNode {
		fail("%s is not a map of keys: set it as a whole", strings.Join(parts[:len(parts)-1], "."))
		return
	}
	put(at, last, value)
	a.flags[strict.KeyNode(at, last)] = flag
}

// setPath makes folder the path of all places of the kinds dir and bind.
func (a assigner) setPath(root *yaml.Node, folder string) {
	flag := "--path " + folder
	found := false
	places := strict.Child(root, "places")
	for i := 0; places != nil && i+1 < len(places.Content); i += 2 {
		name := places.Content[i].Value
		kind := name
		if k := strict.Child(places.Content[i+1], "kind"); k != nil {
			kind = k.Value
		}
		if kind == string(place.Dir) || kind == string(place.Bind) {
			a.assign(root, "places."+name+".path="+strconv.Quote(folder), flag)
			found = true
		}
	}
	if !found {
		a.Add(strict.Error{Flag: flag, Message: "the plan has no place of kind dir or bind, which are folders"})
	}
}

// mark notes that n and all below it came from a flag.
func (a assigner) mark(n *yaml.Node, flag string) {
	a.flags[n] = flag
	for _, c := range n.Content {
		a.mark(c, flag)
	}
}

// step goes from a node to its part: a key of a map, or the item with this name in a list, such as the engines. An empty
// map, or an engine that is just a name, becomes a map, so that keys can be added.
func step(n *yaml.Node, part string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if item.Kind == yaml.ScalarNode && item.Value == part {
				called := *item
				*item = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: item.Line, Column: item.Column}
				put(item, "name", &called)
			}
			if c := strict.Child(item, "name"); item.Kind == yaml.MappingNode && c != nil && c.Value == part {
				return item
			}
		}
		return nil
	}
	c := strict.Child(n, part)
	if c != nil && c.Tag == "!!null" {
		*c = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: c.Line, Column: c.Column}
	}
	return c
}

// keys lists the keys of a map, or the names in a list.
func keys(n *yaml.Node) []string {
	var out []string
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0, n.Kind == yaml.SequenceNode && c.Kind == yaml.ScalarNode:
			out = append(out, c.Value)
		case n.Kind == yaml.SequenceNode && strict.Child(c, "name") != nil:
			out = append(out, strict.Child(c, "name").Value)
		}
	}
	return out
}

// put sets a key of a map.
func put(m *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = value
			return
		}
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: value.Line, Column: value.Column}, value)
}

// remove takes a key out of a map.
func remove(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

// clone copies a tree.
func clone(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = clone(c)
	}
	return &out
}
