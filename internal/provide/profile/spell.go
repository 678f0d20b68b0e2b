package profile

import (
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// Storidge's pages spell one key in several ways: iops: {min: 100, max: 5000}, iops=100,5000, iopsmin, iopsMin. All of them are rewritten
// here, in the tree, before the one table of keys reads it. So a fault has its place in the file, and the name of the key in the one
// spelling.

// A key is known by its path, "service.snapshot.max", without regard to case, dots, dashes and underscores, and "service." may be left
// out. These are further names.
var otherNames = map[string]string{
	"label":       "labels",
	"nodeid":      "node",
	"interval":    "service.snapshot.interval",
	"snapshotmax": "service.snapshot.max",
}

// sectionShort names the key of a section that a single word sets, beside yes and no, which set "enabled".
var sectionShort = map[string]string{
	"service.autoexpand": "", "service.backup": "", "service.encryption": "", "service.replication": "", "service.snapshot": "",
	"service.compression": "algorithm",
}

// squeeze takes from a key what spellings differ in.
func squeeze(key string) string {
	return strings.ToLower(strings.NewReplacer(".", "", "-", "", "_", "").Replace(key))
}

// known maps squeezed spellings to paths of keys. It is made once, when it is first asked for: the table of keys asks, too.
var known struct {
	once  sync.Once
	paths map[string]string
}

// names returns the squeezed spellings of all keys, with their paths.
func names() map[string]string {
	known.once.Do(func() { known.paths = spellings() })
	return known.paths
}

func spellings() map[string]string {
	all := map[string]string{}
	for name, path := range otherNames {
		all[squeeze(name)] = path
	}
	for _, path := range paths() {
		all[squeeze(path)] = path
		all[squeeze(strings.TrimPrefix(path, "service."))] = path
	}
	return all
}

// paths lists the keys of a profile, with those of its sections.
func paths() []string {
	var all []string
	var visit func(prefix string, schema strict.Object)
	visit = func(prefix string, schema strict.Object) {
		properties, _ := schema["properties"].(strict.Object)
		for key, v := range properties {
			all = append(all, prefix+key)
			if o, ok := v.(strict.Object); ok {
				visit(prefix+key+".", o)
			}
		}
	}
	visit("", section().Schema(false))
	slices.Sort(all)
	return all
}

// spelled returns the path of a key in any spelling, or "".
func spelled(key string) string { return names()[squeeze(key)] }

// A speller rewrites a tree.
type speller struct{ *strict.Faults }

// spell returns the tree of a profile with each key in the one spelling. Unknown keys stay.
func (s speller) spell(root *yaml.Node) *yaml.Node {
	out := mapping(root)
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		path := spelled(k.Value)
		switch {
		case path == "":
			out.Content = append(out.Content, k, v)
		case path == "service" && v.Kind == yaml.MappingNode:
			s.put(out, []string{path}, k, mapping(v))
			for j := 0; j+1 < len(v.Content); j += 2 {
				name := v.Content[j].Value
				if p := spelled("service." + name); p != "" {
					name = strings.TrimPrefix(p, "service.")
				}
				s.put(out, append([]string{path}, strings.Split(name, ".")...), v.Content[j], long("service."+name, v.Content[j+1]))
			}
		default:
			s.put(out, strings.Split(path, "."), k, long(path, v))
		}
	}
	return out
}

// put adds a value at a path below a map. Two maps at one path become one; other values that are given twice are a fault.
func (s speller) put(at *yaml.Node, path []string, k, v *yaml.Node) {
	key := *k
	key.Value = path[0]
	there := strict.Child(at, path[0])
	switch {
	case len(path) > 1:
		if there == nil {
			there = mapping(k)
			at.Content = append(at.Content, &key, there)
		}
		if there.Kind == yaml.MappingNode {
			s.put(there, path[1:], k, v)
			return
		}
		fallthrough
	case there != nil && (there.Kind != yaml.MappingNode || v.Kind != yaml.MappingNode):
		s.Add(strict.Error{File: s.File, Line: k.Line, Column: k.Column, Message: strict.Short(k.Value) + " gives a key again that another spelling gave: leave one out"})
	case there == nil:
		at.Content = append(at.Content, &key, v)
	default:
		for i := 0; i+1 < len(v.Content); i += 2 {
			s.put(there, []string{v.Content[i].Value}, v.Content[i], v.Content[i+1])
		}
	}
}

// long returns a value in its long form: {min: 100, max: 5000} for 100,5000 and {enabled: true} for yes.
func long(path string, v *yaml.Node) *yaml.Node {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		return v
	}
	short, isService := sectionShort[path]
	switch {
	case path == "iops" || path == "bandwidth":
		min, max, ok := strings.Cut(v.Value, ",")
		if !ok {
			return v
		}
		return mapping(v, word(v, "min"), word(v, strings.TrimSpace(min)), word(v, "max"), word(v, strings.TrimSpace(max)))
	case isService:
		if _, ok := yesNo[strings.ToLower(v.Value)]; !ok && short != "" {
			return mapping(v, word(v, "enabled"), word(v, "true"), word(v, short), v)
		}
		return mapping(v, word(v, "enabled"), v)
	case path == "labels":
		out := mapping(v)
		for pair := range strings.SplitSeq(v.Value, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			out.Content = append(out.Content, word(v, key), word(v, value))
		}
		return out
	case path == "optional":
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: v.Line, Column: v.Column}
		for key := range strings.SplitSeq(v.Value, ",") {
			out.Content = append(out.Content, word(v, strings.TrimSpace(key)))
		}
		return out
	}
	return v
}

// mapping makes a map at the place of a node.
func mapping(at *yaml.Node, content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column, Content: content}
}

// word makes a text at the place of a node; without letters it is nothing.
func word(at *yaml.Node, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: at.Line, Column: at.Column}
	if text == "" {
		n.Tag = "!!null"
	}
	return n
}
