package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// Options are the changes that flags make to a plan, in the order in which they are applied. The zero value changes
// nothing.
type Options struct {
	// Quick merges the plan's quick section over it. It reduces the blocks to QuickBlocks unless that section sets them.
	Quick bool
	// Set holds assignments of the form path=value: keys with dots between them, and a value in YAML
	// ("workloads.append.count=100", "clients=[1, 2]"). The path may make a new key, but every key before the last must
	// exist.
	Set []string
	// Path, unless empty, is the folder of all places of the kinds dir and bind.
	Path string
	// Blocks and Seed, unless empty, replace the plan's. They are text, so that one place reports their errors.
	Blocks, Seed string
	// Only, unless empty, keeps the cells that an expression names; see Plan.Only.
	Only string
	// Seccomp, unless nil, returns an error if an engine's seccomp profile can't be used on this machine. It is called only
	// for engines that have cells.
	Seccomp func(profile string) error
}

// apply makes the plan that o describes. p was decoded from root, quick is root with its quick section merged.
func (o Options) apply(f *strict.Faults, p *Plan, root, quick *yaml.Node) (*Plan, error) {
	tree := root
	if o.Quick {
		tree = quick
	}
	tree = clone(tree)
	remove(tree, "quick")
	if q := strict.Child(root, "quick"); o.Quick && (q == nil || strict.KeyNode(q, "blocks") == nil) && p.Blocks > QuickBlocks {
		put(tree, "blocks", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(QuickBlocks)})
	}
	a := assigner{f, map[*yaml.Node]string{}}
	for _, s := range o.Set {
		a.assign(tree, s, "--set "+s)
	}
	if o.Path != "" {
		a.setPath(tree, o.Path)
	}
	if o.Blocks != "" {
		a.assign(tree, "blocks="+o.Blocks, "--blocks "+o.Blocks)
	}
	if o.Seed != "" {
		a.assign(tree, "seed="+o.Seed, "--seed "+o.Seed)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	p, d := decodeWith(f, tree, a.flags)
	o.blame(f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	if o.Only != "" {
		if err := p.Only(o.Only); err != nil {
			f.Add(strict.Error{Flag: "--only " + o.Only, Message: err.Error()})
			return nil, f.Err()
		}
	}
	if o.Seccomp != nil {
		p.checkProfiles(d, o.Seccomp)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// checkProfiles checks the seccomp profiles of the engines that have cells.
func (p *Plan) checkProfiles(d *strict.Decoder, check func(string) error) {
	used := map[string]bool{}
	for _, c := range p.Cells() {
		used[c.Engine] = true
	}
	for i, e := range p.Engines {
		if e.Seccomp == "" || !used[e.Name] {
			continue
		}
		if err := check(e.Seccomp); err != nil {
			d.Fail(strict.Join(strict.Join("engines", strconv.Itoa(i)), "seccomp"), "%v", err)
		}
	}
}

// blame names the flags in faults of the file: the file was sound before the flags, so they are the cause.
func (o Options) blame(f *strict.Faults) {
	var flags []string
	for _, s := range o.Set {
		flags = append(flags, "--set "+s)
	}
	if o.Blocks != "" {
		flags = append(flags, "--blocks "+o.Blocks)
	}
	for _, e := range f.Found {
		if e.Flag == "" && len(flags) > 0 {
			e.Message += " (with " + strings.Join(flags, " ") + ")"
		}
	}
}

// Only takes out the cells that expr does not name. An expression is a list of terms with commas between them, all of which
// have to hold. A term is a dimension (workload, engine, source, place, limits, clients), "=" and one or more names with
// "|" between them, which may hold * and ?: "engine=oci,place=layer|bind,workload=randread-*". It is an error if a name
// matches nothing or no cell is left. If the baseline is taken out of all workloads, the first cell of each becomes the
// baseline.
//
// Cells that are taken out are added to Exclude, so that the plan's YAML shows it.
func (p *Plan) Only(expr string) error {
	out := *p
	out.Exclude = slices.Clone(p.Exclude)
	for term := range strings.SplitSeq(expr, ",") {
		dimension, list, ok := strings.Cut(strings.TrimSpace(term), "=")
		if names := out.names(dimension); !ok || len(names) == 0 {
			return fmt.Errorf("%s is not a term: write workload=, engine=, source=, place=, limits= or clients= and names, like engine=oci,place=layer|bind", strict.Short(term))
		}
		rest := out.names(dimension)
		for pattern := range strings.SplitSeq(list, "|") {
			if text := out.unknown(dimension, pattern); text != "" || pattern == "" {
				return fmt.Errorf("%s", cmp.Or(text, "a name is empty in "+strict.Short(term)))
			}
			rest = slices.DeleteFunc(rest, func(n string) bool { return glob(pattern, n) })
		}
		if len(rest) > 0 {
			out.Exclude = append(out.Exclude, matchOf(dimension, rest))
		}
		if dimension == "source" {
			out.Exclude = append(out.Exclude, p.withoutSources()...)
		}
	}
	if len(out.Cells()) == 0 {
		return fmt.Errorf("no cell is left: the plan has %s", strings.Join(p.axes(), "; "))
	}
	based := slices.ContainsFunc(out.Workloads, func(w workload.Spec) bool {
		_, ok := out.baselineIn(out.cellsOf(w.Name))
		return ok
	})
	if !based {
		out.Baseline = nil
	}
	*p = out
	return nil
}

// withoutSources matches the workloads that have no sources: a term about sources doesn't apply to them.
func (p *Plan) withoutSources() []Match {
	var names []string
	for _, w := range p.Workloads {
		if !w.ReadsSources() {
			names = append(names, w.Name)
		}
	}
	if names == nil {
		return nil
	}
	return []Match{{Workload: names}}
}

// axes lists the names along each dimension: "engine host, oci".
func (p *Plan) axes() []string {
	var out []string
	for _, pick := range []struct {
		dimension string
		of        func(record.Cell) string
	}{
		{"workload", func(c record.Cell) string { return c.Workload }},
		{"engine/place", func(c record.Cell) string { return c.Engine + "/" + strings.ReplaceAll(c.Places(), " ", "") }},
		{"limits", func(c record.Cell) string { return c.Limits }},
		{"clients", func(c record.Cell) string { return strconv.Itoa(c.Clients) }},
	} {
		var names []string
		for _, c := range p.Cells() {
			if n := pick.of(c); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		out = append(out, pick.dimension+" "+strings.Join(names, ", "))
	}
	return out
}

// matchOf makes a match for names along one dimension.
func matchOf(dimension string, names []string) Match {
	switch dimension {
	case "workload":
		return Match{Workload: names}
	case "engine":
		return Match{Engine: names}
	case "source":
		return Match{Source: names}
	case "place":
		return Match{Place: names}
	case "limits":
		return Match{Limits: names}
	}
	var m Match
	for _, n := range names {
		if i, err := strconv.Atoi(n); err == nil {
			m.Clients = append(m.Clients, i)
		}
	}
	return m
}
