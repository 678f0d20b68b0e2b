package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 1 << 20

// maxDepth bounds how deep a tree is after its aliases were replaced by what they stand for.
const maxDepth = 32

// A Document is a kind of file, in the words of its messages.
type Document struct {
	// What names it: "plan".
	What string
	// Empty says what to write into a file that holds nothing: "it needs a name". Without it, nothing is a value.
	Empty string
	// MaxNodes bounds the values of a file after its aliases were replaced: "billion laughs" ends here.
	MaxNodes int
}

// Parse reads one YAML document into a tree without aliases and merge keys,
// in which every mapping has each key once. Nodes keep their place in the file;
// those that came through an alias have the place of the anchor. Faults go to f; nil is returned
// if there is nothing to go on with.
func (k Document) Parse(f *Faults, data []byte) *yaml.Node {
	if len(data) > MaxSize {
		f.Add(Error{File: f.File, Line: 1, Column: 1, Message: fmt.Sprintf("the file is larger than %d bytes, too large for a %s", MaxSize, k.What)})
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || k.Empty != "" && doc.Content[0].Tag == "!!null") {
		f.Add(Error{File: f.File, Line: 1, Column: 1, Message: fmt.Sprintf("the %s is empty: %s", k.What, k.Empty)})
		return nil
	} else if err != nil {
		f.Add(syntaxError(f.File, err))
		return nil
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		f.Add(Error{File: f.File, Line: max(1, second.Line), Column: max(1, second.Column), Message: "a second document starts here: a file holds one " + k.What})
		return nil
	} else if !errors.Is(err, io.EOF) {
		f.Add(syntaxError(f.File, err))
		return nil
	}
	e := expander{Faults: f, Document: k, left: k.MaxNodes}
	root := e.expand(doc.Content[0], 0)
	if e.left < 0 {
		return nil
	}
	return root
}

// yamlLine is how the YAML package says where it failed; it knows no columns.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

func syntaxError(file string, err error) Error {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			line = n
		}
		text = text[len(m[0]):]
	}
	return Error{File: file, Line: line, Column: 1, Message: "not YAML: " + text}
}

// An expander copies a tree, replacing aliases and merge keys.
type expander struct {
	*Faults
	Document
	// left is how many nodes may still be made; below 0 the work is given up.
	left int
}

func (e *expander) fail(n *yaml.Node, format string, args ...any) {
	e.Add(Error{File: e.File, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)})
}

func (e *expander) expand(n *yaml.Node, depth int) *yaml.Node {
	if e.left < 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}
	}
	e.left--
	if e.left < 0 || depth > maxDepth {
		e.left = -1
		e.fail(n, "the %s is nested too deeply, or its aliases stand for too much (more than %d values or %d levels)", e.What, e.MaxNodes, maxDepth)
		return e.expand(n, depth)
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias == nil {
			e.fail(n, "the alias *%s has no anchor", n.Value)
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}
		}
		return e.expand(n.Alias, depth+1)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		e.fail(n, "the tag %.40s is not used in a %s: leave it out", n.Tag, e.What)
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value, Line: n.Line, Column: n.Column, Style: n.Style &^ yaml.TaggedStyle}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			out.Content = append(out.Content, e.expand(c, depth+1))
		}
	case yaml.MappingNode:
		e.mapping(n, out, depth)
	}
	return out
}

// mapping copies the entries of n to out. Merged entries come last, and yield to
// the mapping's own.
func (e *expander) mapping(n, out *yaml.Node, depth int) {
	var merges []*yaml.Node
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := e.expand(n.Content[i], depth+1)
		if e.left < 0 {
			return
		}
		if k.Kind != yaml.ScalarNode {
			e.fail(k, "a key is plain text, not %s", Describe(k))
			continue
		}
		v := e.expand(n.Content[i+1], depth+1)
		if k.Tag == "!!merge" {
			merges = append(merges, v)
			continue
		}
		if old := first[k.Value]; old != nil {
			e.fail(k, "%s is given twice: first at line %d", Short(k.Value), old.Line)
			continue
		}
		first[k.Value] = k
		out.Content = append(out.Content, k, v)
	}
	for _, m := range merges {
		e.merge(m, out)
	}
}

func (e *expander) merge(from, out *yaml.Node) {
	list := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		list = from.Content
	}
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			e.fail(m, "<< takes a map or a list of maps, not %s", Describe(m))
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if KeyNode(out, m.Content[i].Value) == nil {
				out.Content = append(out.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
}

// KeyNode returns the key's own node in mapping m, or nil.
func KeyNode(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i]
		}
	}
	return nil
}

// Child returns the value of a key in mapping m, or nil.
func Child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// Describe names what a node is, for "wants X, got Y".
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the text " + Short(n.Value)
	}
	return Short(n.Value)
}

// Short quotes a text of the user for a message, cut if it is long.
func Short(s string) string {
	const most = 60
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
