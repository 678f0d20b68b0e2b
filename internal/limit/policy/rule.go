package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// rules reads the list of rules.
func (d *decoder) rules(n *yaml.Node) []Rule {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "rules wants a list, one rule after each dash, got %s", strict.Describe(n))
		return nil
	}
	if len(n.Content) > maxRules {
		d.fail(n, "%d rules are more than a policy may have (%d)", len(n.Content), maxRules)
		return nil
	}
	var rules []Rule
	lines := map[string]int{}
	for i, c := range n.Content {
		r := d.rule(c, i)
		r.Line = c.Line
		if first := lines[r.Name]; first != 0 {
			d.fail(c, "the name %s is also used by the rule at line %d: give each its own", strict.Short(r.Name), first)
		}
		lines[r.Name] = c.Line
		rules = append(rules, r)
	}
	return rules
}

// rule reads one rule.
func (d *decoder) rule(n *yaml.Node, i int) Rule {
	r := Rule{Name: fmt.Sprintf("rule %d", i+1)}
	matched, limited, before := false, false, len(d.Found)
	d.section(n, "a rule", fields{
		"name":  func(v *yaml.Node) { r.Name = d.word(v, "name") },
		"match": func(v *yaml.Node) { matched = true; d.match(v, &r.Match) },
		"where": func(v *yaml.Node) { d.where(v, &r.Where) },
		"together": func(v *yaml.Node) {
			if r.Together = v.Value == "true"; v.Tag != "!!bool" {
				d.fail(v, "together wants true or false, got %s", strict.Describe(v))
			}
		},
		"limits": func(v *yaml.Node) { limited = true; d.limits(v, &r.Limits) },
	})
	if len(d.Found) > before {
		return r
	}
	if !matched {
		d.fail(n, "%s has no match: say which containers it is for, or write match: all", r.Name)
	}
	switch {
	case !limited:
		d.fail(n, "%s has no limits", r.Name)
	case r.Together && slices.ContainsFunc(Asked(r.Limits), func(k limit.Key) bool { return !k.Rate() && k != limit.CPUs && k != limit.Memory }):
		d.fail(n, "%s: together is for rates, cpus and memory: put weights, shares and latencies into a rule of their own", r.Name)
	case r.Together && len(r.Limits.Remove) > 0:
		d.fail(n, "%s: containers can't share the value none: leave out together", r.Name)
	case r.Together && r.Where.DeviceWide:
		d.fail(n, "%s: device_wide limits every program that writes to the device, together only the rule's containers: leave out one of them", r.Name)
	case r.Where.DeviceWide && !anyRate(r.Limits):
		d.fail(n, "%s: device_wide is for rates, and the rule has none", r.Name)
	case r.Where != (Where{}) && !IO(r.Limits):
		d.fail(n, "%s: where selects the data for limits on I/O, and the rule has none: leave out where", r.Name)
	}
	return r
}

// IO reports whether a limit on I/O is requested, which needs a device.
func IO(a limit.Ask) bool {
	return a.Limits.IO() || len(a.Percent) > 0 || slices.ContainsFunc(a.Remove, limit.Key.IO)
}

func anyRate(a limit.Ask) bool {
	return slices.ContainsFunc(Asked(a), limit.Key.Rate)
}

// Asked lists the keys that an Ask sets, in their order.
func Asked(a limit.Ask) []limit.Key {
	var keys []limit.Key
	for _, k := range limit.Keys {
		if _, relative := a.Percent[k]; relative || a.Limits.Has(k) || slices.Contains(a.Remove, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// engines are the engines that a match may name.
var engines = []string{string(target.Docker), string(target.Podman), string(target.Containerd), string(target.CRIO), string(target.OCI)}

// match reads conditions, or the word all.
func (d *decoder) match(n *yaml.Node, m *Match) {
	if n.Kind == yaml.ScalarNode && n.Value == "all" {
		return
	}
	list := func(name string, to *[]string) func(*yaml.Node) {
		return func(v *yaml.Node) { *to = d.patterns(v, name) }
	}
	before := len(d.Found)
	d.section(n, "a match", fields{
		"engine": func(v *yaml.Node) {
			m.Engine = d.patterns(v, "engine")
			for _, e := range m.Engine {
				if !slices.Contains(engines, e) {
					d.fail(v, "there is no engine %s%s (the engines: %s)", strict.Short(e), strict.DidYouMean(e, engines), strings.Join(engines, ", "))
				}
			}
		},
		"name": list("name", &m.Name), "image": list("image", &m.Image),
		"project": list("project", &m.Project), "service": list("service", &m.Service),
		"volume": list("volume", &m.Volume), "namespace": list("namespace", &m.Namespace),
		"pod": list("pod", &m.Pod), "container": list("container", &m.Container),
		"label": func(v *yaml.Node) { m.Label = d.labels(v) },
	})
	if m.IsZero() && len(d.Found) == before {
		d.fail(n, "a match without a condition: write match: all for every container")
	}
}

// labels reads patterns by label.
func (d *decoder) labels(n *yaml.Node) map[string][]string {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "label wants a map of labels and values, as {tier: gold}, got %s", strict.Describe(n))
		return nil
	}
	all := map[string][]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Value == "" {
			d.fail(k, "label: a label has no name")
			continue
		}
		all[k.Value] = d.patterns(v, "label "+k.Value)
	}
	if len(all) == 0 {
		d.fail(n, "label names no label")
	}
	return all
}

// patterns reads one pattern or a list of them.
func (d *decoder) patterns(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode {
		return []string{d.word(n, what)}
	}
	if len(n.Content) == 0 {
		d.fail(n, "%s has an empty list, which matches nothing", what)
	}
	var all []string
	for _, c := range n.Content {
		all = append(all, d.word(c, what))
	}
	return all
}

// word reads a text that is not empty. Numbers are kept as they are written, since labels may look like numbers.
func (d *decoder) word(n *yaml.Node, what string) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		d.fail(n, "%s wants a text, got %s", what, strict.Describe(n))
	case n.Value == "":
		d.fail(n, "%s is empty", what)
	case strings.ContainsFunc(n.Value, unicode.IsControl):
		d.fail(n, "%s contains a line break or another control character", what)
	}
	return n.Value
}

// where reads which of a container's data a rule is for.
func (d *decoder) where(n *yaml.Node, w *Where) {
	all := false
	flag := func(name string, to *bool) func(*yaml.Node) {
		return func(v *yaml.Node) {
			if v.Tag != "!!bool" {
				d.fail(v, "%s wants true or false, got %s", name, strict.Describe(v))
			}
			*to = v.Value == "true"
		}
	}
	before := len(d.Found)
	d.section(n, "where", fields{
		"volume":      func(v *yaml.Node) { w.Volume = d.word(v, "volume") },
		"path":        func(v *yaml.Node) { w.Path = d.word(v, "path") },
		"device":      func(v *yaml.Node) { w.Device = d.word(v, "device") },
		"all":         flag("all", &all),
		"device_wide": flag("device_wide", &w.DeviceWide),
	})
	if len(d.Found) > before {
		return
	}
	selectors := 0
	for _, is := range []bool{w.Volume != "", w.Path != "", w.Device != "", all} {
		if is {
			selectors++
		}
	}
	switch {
	case selectors > 1:
		d.fail(n, "where takes one of volume, path, device and all, not several")
	case w.Path != "" && path.Clean(w.Path) != w.Path || w.Path != "" && !path.IsAbs(w.Path):
		d.fail(n, "path %s is not a whole path of the container, such as /var/lib/data", strict.Short(w.Path))
	case w.Device != "" && !filepath.IsAbs(filepath.FromSlash(w.Device)) && !path.IsAbs(w.Device):
		d.fail(n, "device %s is not the node of a block device, such as /dev/sda", strict.Short(w.Device))
	}
}

// limits reads values by key, as "plimsoll limit set" does.
func (d *decoder) limits(n *yaml.Node, a *limit.Ask) {
	known := fields{}
	for _, k := range limit.Keys {
		known[string(k)] = func(v *yaml.Node) {
			if v.Kind != yaml.ScalarNode {
				d.fail(v, "%s wants a value such as 10MiB, got %s", k, strict.Describe(v))
				return
			}
			if err := a.Set(k, v.Value); err != nil {
				d.fail(v, "%v", err)
			}
		}
	}
	before := len(d.Found)
	d.section(n, "limits", known)
	if a.IsZero() && len(d.Found) == before {
		d.fail(n, "limits names no limit")
	}
}

// numbered matches the name of a rule without a name of its own.
var numbered = regexp.MustCompile(`^rule [0-9]+$`)

// Called names a rule within a sentence: "rule web", or "rule 2" if it has no name.
func Called(name string) string {
	if numbered.MatchString(name) {
		return name
	}
	return "rule " + name
}
