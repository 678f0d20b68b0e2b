// Package policy reads which containers must have which limits.
//
// A policy is a list of rules in YAML. A rule says which containers it is for (match), what of their data
// (where), and what they must stay under (limits):
//
//	rules:
//	  - name: databases
//	    match: {engine: docker, name: "db-*", label: {tier: gold}}
//	    where: {volume: data}
//	    limits: {write_bps: 10MiB, read_iops: 500}
//
// All conditions of a match must hold; in a list, one is enough. Several rules may match one container. Then the last
// rule with a value decides, for each kind of limit and each device; package keeper applies this, since it knows the
// devices.
//
// Easily got wrong: a rule without a match would apply to every container of the machine, so that must be written as
// "match: all". An unknown key is an error, because a misspelt limit would leave a container without one.
//
// The package only reads and compares. It calls no engine and writes nothing.
package policy

import (
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// A Policy is the content of a file. The zero value has no rules: nothing is limited.
type Policy struct {
	// Rules are in the file's order: of two that disagree, the later one decides.
	Rules []Rule `json:"rules"`
}

// A Rule gives limits to the containers that it matches.
type Rule struct {
	// Name is unique within the policy; "rule N" where the file has none.
	Name  string `json:"name"`
	Match Match  `json:"match"`
	Where Where  `json:"where"`
	// Together makes the limits one budget for all matching containers, rather than one for each (version 2).
	Together bool `json:"together,omitempty"`
	// Limits are the requested limits.
	Limits limit.Ask `json:"-"`
	// Line is the rule's first line in the file; 0 if it comes from no file.
	Line int `json:"line,omitempty"`
}

// A Match selects containers. Each condition that is not empty must hold. A match without conditions selects all
// containers, and is written "match: all".
type Match struct {
	// Engine is a list of target's engines.
	Engine []string `json:"engine,omitempty"`
	// Name and Image are lists of patterns, for the container's name and for its image as requested. One of a list
	// must match.
	Name  []string `json:"name,omitempty"`
	Image []string `json:"image,omitempty"`
	// Label maps labels to patterns for their values. Each of the labels must exist.
	Label map[string][]string `json:"label,omitempty"`
	// Project and Service are those of a compose file.
	Project []string `json:"project,omitempty"`
	Service []string `json:"service,omitempty"`
	// Volume are patterns for names of volumes; one of the volumes of the container must match.
	Volume []string `json:"volume,omitempty"`
	// Namespace, Pod and Container are Kubernetes' names.
	Namespace []string `json:"namespace,omitempty"`
	Pod       []string `json:"pod,omitempty"`
	Container []string `json:"container,omitempty"`
}

// A Where selects some of a container's data. The zero value selects all of it.
type Where struct {
	// Volume is a pattern for names of volumes. The rule doesn't apply to a container without such a volume.
	Volume string `json:"volume,omitempty"`
	// Path is a path in the container.
	Path string `json:"path,omitempty"`
	// Device is a block device of the host, or a pattern for device nodes (filepath.Match).
	Device string `json:"device,omitempty"`
	// DeviceWide also limits what the kernel writes back to the device for others (version 1).
	DeviceWide bool `json:"device_wide,omitempty"`
}

// IsZero reports whether m matches every container.
func (m Match) IsZero() bool {
	return len(m.Engine)+len(m.Name)+len(m.Image)+len(m.Label)+len(m.Project)+len(m.Service)+
		len(m.Volume)+len(m.Namespace)+len(m.Pod)+len(m.Container) == 0
}

// Of lists the rules that match a container, in their order.
func (p *Policy) Of(t target.Target) []*Rule {
	var rules []*Rule
	for i := range p.Rules {
		if p.Rules[i].Matches(t) {
			rules = append(rules, &p.Rules[i])
		}
	}
	return rules
}

// Unmatched are the names of the rules that match none of the targets.
func (p *Policy) Unmatched(targets []target.Target) (names []string) {
	for i := range p.Rules {
		if !slices.ContainsFunc(targets, p.Rules[i].Matches) {
			names = append(names, p.Rules[i].Name)
		}
	}
	return names
}

// Matches reports whether the rule applies to a container.
func (r *Rule) Matches(t target.Target) bool {
	if !r.Match.holds(t) {
		return false
	}
	return r.Where.Volume == "" || len(r.Volumes(t)) > 0
}

// Volumes lists the container's volumes that Where selects.
func (r *Rule) Volumes(t target.Target) []string {
	var names []string
	for _, m := range t.Mounts {
		if m.Volume != "" && glob(r.Where.Volume, m.Volume) {
			names = append(names, m.Volume)
		}
	}
	return names
}

// Labels of compose files: Docker's (docker/compose, pkg/api/labels.go) and podman-compose's, which
// sets both. Those of Kubernetes are the kubelet's (pkg/kubelet/types/labels.go).
var (
	projectLabels   = []string{"com.docker.compose.project", "io.podman.compose.project"}
	serviceLabels   = []string{"com.docker.compose.service"}
	spaceLabels     = []string{"io.kubernetes.pod.namespace"}
	podLabels       = []string{"io.kubernetes.pod.name"}
	containerLabels = []string{"io.kubernetes.container.name"}
)

// holds reports whether a container satisfies every condition.
func (m Match) holds(t target.Target) bool {
	for label, patterns := range m.Label {
		v, ok := t.Labels[label]
		if !ok || !fits(patterns, v) {
			return false
		}
	}
	return fits(m.Engine, string(t.Engine)) &&
		fits(m.Name, t.Name) &&
		(fits(m.Image, t.Image) || fits(m.Image, tagless(t.Image))) &&
		labelled(m.Project, t, projectLabels) &&
		labelled(m.Service, t, serviceLabels) &&
		labelled(m.Namespace, t, spaceLabels) &&
		labelled(m.Pod, t, podLabels) &&
		labelled(m.Container, t, containerLabels) &&
		m.volumes(t)
}

// volumes reports whether one of the container's volumes matches.
func (m Match) volumes(t target.Target) bool {
	if len(m.Volume) == 0 {
		return true
	}
	for _, v := range t.Mounts {
		if v.Volume != "" && fits(m.Volume, v.Volume) {
			return true
		}
	}
	return false
}

// labelled reports whether the value of one of the labels matches. No patterns match everything.
func labelled(patterns []string, t target.Target, labels []string) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, l := range labels {
		if v, ok := t.Labels[l]; ok && fits(patterns, v) {
			return true
		}
	}
	return false
}

// tagless is an image's name without its tag and digest: "postgres" for "postgres:16".
func tagless(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// fits reports whether one of the patterns matches. No patterns match everything.
func fits(patterns []string, s string) bool {
	for _, p := range patterns {
		if glob(p, s) {
			return true
		}
	}
	return len(patterns) == 0
}

// glob reports whether a pattern matches all of s: "*" matches any number of characters, including slashes, and "?"
// one. Its time is at most the product of the lengths.
func glob(pattern, s string) bool {
	p, star, mark := 0, -1, 0
	for i := 0; i < len(s); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			// The last star takes one more.
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
