package plan

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// document is the form of a plan's file. The built-in plans have some 500 values.
var document = strict.Document{What: "plan", Empty: "it needs name, workloads, engines and places", MaxNodes: 20_000}

// Parse reads a plan; filename is for messages only. The error is of type Errors and holds every fault. The quick section
// is checked as well, but not applied.
func Parse(filename string, data []byte) (*Plan, error) {
	return ParseWith(filename, data, Options{})
}

// ParseWith reads a plan and applies the options. The file has to be sound before they are applied.
func ParseWith(filename string, data []byte, o Options) (*Plan, error) {
	f := &strict.Faults{File: filename}
	root := document.Parse(f, data)
	if root == nil {
		return nil, f.Err()
	}
	p := decodeTree(f, root, nil)
	quick := root
	if q := strict.Child(root, "quick"); q != nil {
		sound := len(f.Found) == 0
		if quick = mergeQuick(f, root, q); sound && len(f.Found) == 0 {
			checkQuick(f, quick, q)
		}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return o.apply(f, p, root, quick)
}

// checkQuick decodes a tree with the quick section q merged. Its faults outside of q are marked as those of quick runs.
func checkQuick(f *strict.Faults, quick, q *yaml.Node) {
	own := &strict.Faults{File: f.File}
	decodeTree(own, quick, nil)
	inside := map[[2]int]bool{}
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		inside[[2]int{n.Line, n.Column}] = true
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(q)
	for _, e := range own.Found {
		if !inside[[2]int{e.Line, e.Column}] {
			e.Message += " (with --quick)"
		}
		f.Add(*e)
	}
}

// decodeTree decodes a tree; faults go to f.
func decodeTree(f *strict.Faults, root *yaml.Node, flags map[*yaml.Node]string) *Plan {
	p, _ := decodeWith(f, root, flags)
	return p
}

// decodeWith is decodeTree, and also returns the decoder, for more checks of the plan.
func decodeWith(f *strict.Faults, root *yaml.Node, flags map[*yaml.Node]string) (*Plan, *strict.Decoder) {
	d := strict.NewDecoder(f, flags)
	d.Nodes[""] = root
	var p Plan
	if root.Kind != yaml.MappingNode {
		d.FailAt(root, "", "a plan is a map of keys and values, this is %s", strict.Describe(root))
		return &p, d
	}
	planSection().Decode(d, root, "", &p)
	return &p, d
}

// Marshal writes the plan as YAML, with all defaults of its own keys. Parse reads the same plan from it. It has no comments
// and no quick section.
func (p *Plan) Marshal() []byte {
	root := planSection().Encode(p)
	root.Style = 0
	for i := 1; i < len(root.Content); i += 2 {
		// Lists of matches are easier to read with one match a line.
		if k := root.Content[i-1].Value; k == "include" || k == "exclude" {
			root.Content[i].Style = 0
		}
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		panic("plan: its own tree can't be written: " + err.Error())
	}
	if err := enc.Close(); err != nil {
		panic("plan: its own tree can't be written: " + err.Error())
	}
	return buf.Bytes()
}
