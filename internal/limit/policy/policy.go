// Package policy reads which containers shall have which limits.
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
// All conditions of a match have to hold; of a list, one is enough. Several rules may match one container.
// Then, for each kind of limit and each device, the last rule that says something about it decides; the package that
// knows the devices (keeper) sees to that.
//
// Easily got wrong: a rule without a match would hold every container of the machine, so that has to be
// written as "match: all"; and a key that isn't known is an error, because a limit that is
// misspelt is a container without one.
//
// The package reads and compares. It asks no engine and writes nothing.
package policy

import (
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// A Policy is what a file says. The zero value has no rules: nothing is limited.
type Policy struct {
	// Rules are in the file's order: of two that disagree, the later one decides.
	Rules []Rule `json:"rules"`
}

// A Rule gives limits to the containers that it matches.
type Rule struct {
	// Name is unique within the policy. It is "rule N" where the file has none.
	Name  string `json:"name"`
	Match Match  `json:"match"`
	Where Where  `json:"where"`
	// Together makes them one budget for all containers that match, instead of each one's own (version 2).
	Together bool `json:"together,omitempty"`
	// Limits are what is asked for.
	Limits limit.Ask `json:"-"`
	// Line is where it begins in the file; 0 if it comes from no file.
	Line int `json:"line,omitempty"`
}

// A Match says which containers a rule is for. Each of its conditions that is not empty has to hold;
// one without any holds for all containers, and is written "match: all".
type Match struct {
	// Engine is one of target's engines.
	Engine []string `json:"engine,omitempty"`
	// Name and Image are patterns of the container's name, and its image's as it was asked for. One
	// of a list has to fit.
	Name  []string `json:"name,omitempty"`
	Image []string `json:"image,omitempty"`
	// Label are patterns of labels' values, by label. Each of the labels has to be there.
	Label map[string][]string `json:"label,omitempty"`
	// Project and Service are those of a compose file.
	Project []string `json:"project,omitempty"`
	Service []string `json:"service,omitempty"`
	// Volume are patterns of the names of volumes of which the container has one.
	Volume []string `json:"volume,omitempty"`
	// Namespace, Pod and Container are Kubernetes' names.
	Namespace []string `json:"namespace,omitempty"`
	Pod       []string `json:"pod,omitempty"`
	Container []string `json:"container,omitempty"`
}

// A Where says which of a container's data a rule is for. The zero value is all that it has.
type Where struct {
	// Volume is a pattern of the names of volumes. A container that has none of them is none of the
	// rule's.
	Volume string `json:"volume,omitempty"`
	// Path is a path of the container.
	Path string `json:"path,omitempty"`
	// Device is a block device of the host, or a pattern of their nodes (filepath.Match).
	Device string `json:"device,omitempty"`
	// DeviceWide also holds what the kernel writes back for others to the device (version 1).
	DeviceWide bool `json:"device_wide,omitempty"`
}

// String is "volume data", "path /srv", "device /dev/sda" or "".
func (w Where) String() string {
	s := ""
	switch {
	case w.Volume != "":
		s = "volume " + w.Volume
	case w.Path != "":
		s = "path " + w.Path
	case w.Device != "":
		s = "device " + w.Device
	}
	if w.DeviceWide {
		s = strings.TrimSpace(s + " device-wide")
	}
	return s
}

// IsZero reports whether m holds for every container.
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

// Matches reports whether the rule is for a container.
func (r *Rule) Matches(t target.Target) bool {
	if !r.Match.holds(t) {
		return false
	}
	return r.Where.Volume == "" || len(r.Volumes(t)) > 0
}

// Volumes lists the container's volumes that the rule's Where names.
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

// holds reports whether every condition is met.
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

// volumes reports whether one of the container's volumes fits.
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

// labelled reports whether the value of one of the labels fits. No patterns fit everything.
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

// fits reports whether one of the patterns fits. No patterns fit everything.
func fits(patterns []string, s string) bool {
	for _, p := range patterns {
		if glob(p, s) {
			return true
		}
	}
	return len(patterns) == 0
}

// glob reports whether a pattern fits all of s: "*" is any number of characters, slashes among them, and "?"
// one. It takes time in the product of the lengths at most.
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
