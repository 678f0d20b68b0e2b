package share

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

// plan returns a plan without the names, folders and texts that a user gave it. A built-in plan comes out as it is.
func (n *names) plan(text string) (*plan.Plan, error) {
	p, err := plan.Parse("the plan of the run", []byte(text))
	if err != nil {
		return nil, err
	}
	n.spellOut(p)
	for i := range p.Workloads {
		// A pattern of bytes may be a text. Only its length matters for a figure.
		if j := &p.Workloads[i].Job; len(j.Pattern) > 0 {
			j.Pattern = bytes.Repeat([]byte{0xaa}, len(j.Pattern))
		}
	}
	if !known(p.Description) {
		p.Description = ""
	}
	var root yaml.Node
	if err := yaml.Unmarshal(p.Marshal(), &root); err != nil {
		return nil, err
	}
	n.take(&root)
	n.hide(&root)
	b, err := yaml.Marshal(&root)
	if err != nil {
		return nil, err
	}
	if p, err = plan.Parse("the plan of the run, without its names", b); err != nil {
		return nil, fmt.Errorf("its plan has a text that can't be left out: %w", err)
	}
	return p, nil
}

// hide replaces the texts below a node. Numbers and switches stay.
func (n *names) hide(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		node.Value = n.of(node.Value)
	}
	if node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			// A key is a name whatever its type: 4711 may be a person's.
			node.Content[i].Value = n.of(node.Content[i].Value)
		}
	}
	for i, c := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			n.hide(c)
		}
	}
}

// spellOut replaces the patterns of p's include and exclude by the names that they match, because a pattern with a name in it
// would match nothing once the names are replaced.
func (n *names) spellOut(p *plan.Plan) {
	var workloads, engines, places, sets []string
	for _, w := range p.Workloads {
		workloads = append(workloads, w.Name)
	}
	for _, e := range p.Engines {
		engines = append(engines, e.Name)
	}
	for _, s := range p.Places {
		places = append(places, s.Name)
	}
	for _, l := range p.Limits {
		sets = append(sets, l.Name)
	}
	for _, list := range [][]plan.Match{p.Include, p.Exclude} {
		for i := range list {
			m := &list[i]
			m.Workload = spelt(m.Workload, workloads, func(s string) bool { return plan.Match{Workload: m.Workload}.Matches(record.Cell{Workload: s}) })
			m.Engine = spelt(m.Engine, engines, func(s string) bool { return plan.Match{Engine: m.Engine}.Matches(record.Cell{Engine: s}) })
			m.Source = spelt(m.Source, p.Sources, func(s string) bool { return plan.Match{Source: m.Source}.Matches(record.Cell{Source: s}) })
			m.Place = spelt(m.Place, places, func(s string) bool { return plan.Match{Place: m.Place}.Matches(record.Cell{Place: s}) })
			m.Limits = spelt(m.Limits, sets, func(s string) bool { return plan.Match{Limits: m.Limits}.Matches(record.Cell{Limits: s}) })
		}
	}
}

// spelt are the names that match patterns, or the patterns if each of them is a name already, or known.
func spelt(patterns, all []string, matches func(string) bool) []string {
	isPlain := func(s string) bool { return known(s) || slices.Contains(all, s) }
	if !slices.ContainsFunc(patterns, func(s string) bool { return !isPlain(s) }) {
		return patterns
	}
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !matches(s) })
}

// schemaWords are the keys of plans and the words that they may have as values.
func schemaWords() []string {
	var schema any
	if err := json.Unmarshal(plan.Schema(), &schema); err != nil {
		panic("share: the schema of plans can't be read: " + err.Error())
	}
	var words []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, sub := range v {
				if props, ok := sub.(map[string]any); ok && k == "properties" {
					for name := range props {
						words = append(words, name)
					}
				}
				walk(sub)
			}
			words = appendText(words, v["const"])
			if list, ok := v["enum"].([]any); ok {
				for _, e := range list {
					words = appendText(words, e)
				}
			}
		case []any:
			for _, sub := range v {
				walk(sub)
			}
		}
	}
	walk(schema)
	return words
}

func appendText(list []string, v any) []string {
	if s, ok := v.(string); ok {
		return append(list, s)
	}
	return list
}

// cell is a cell by the names of the file.
func (n *names) cell(c record.Cell) record.Cell {
	return record.Cell{
		Workload: n.of(c.Workload), Engine: n.of(c.Engine), Place: n.of(c.Place), Limits: n.of(c.Limits), Source: n.of(c.Source),
		Clients: c.Clients, Control: c.Control,
	}
}
