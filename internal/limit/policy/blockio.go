package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// blockioLabel is the annotation of a pod that names its class (intel/goresctrl, pkg/blockio/kubernetes.go).
const blockioLabel = "blockio.resources.beta.kubernetes.io/pod"

// blockioKeys maps the parameters of a class (intel/goresctrl, pkg/blockio/blockio.go, type DevicesParameters) to
// limits.
var blockioKeys = map[string]limit.Key{
	"ThrottleReadBps": limit.ReadBPS, "ThrottleWriteBps": limit.WriteBPS,
	"ThrottleReadIOPS": limit.ReadIOPS, "ThrottleWriteIOPS": limit.WriteIOPS,
	"Weight": limit.Weight,
}

// leastWeight and mostWeight are the range of weights in goresctrl (blockio.go, devicesParametersToCgBlockIO).
const leastWeight, mostWeight = 10, 1000

// classes describes a file with classes.
var classes = strict.Document{What: "block I/O configuration", Empty: "it needs Classes", MaxNodes: document.MaxNodes}

// ReadBlockIO is FromBlockIO for a file. Errors are *usage.Errors, but for those of reading.
func ReadBlockIO(path string) ([]byte, error) {
	b, err := controlfile.Read(path, strict.MaxSize)
	var kind *controlfile.Error
	if errors.As(err, &kind) || errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	text, err := FromBlockIO(path, b)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	return text, nil
}

// FromBlockIO turns the classes of a block I/O configuration, as containerd and CRI-O read it
// (/etc/containers/blockio.yaml), into the text of a policy that Parse reads. file is the configuration's name, for
// messages.
//
// A class becomes one rule for each of its blocks and devices. The rule matches the pods whose annotation names the
// class. As in goresctrl the last of several blocks wins, and a weight for one device takes precedence over a weight
// for all devices, in any order. FromBlockIO refuses what goresctrl refuses, and what can't be a limit. The error is
// of type strict.Errors if it belongs to a line.
func FromBlockIO(file string, data []byte) ([]byte, error) {
	d := newDecoder(file)
	root := classes.Parse(d.Faults, data)
	if root == nil {
		return nil, d.Err()
	}
	w := &blockioWriter{d: d}
	d.section(root, "a block I/O configuration", fields{"Classes": w.classes})
	if err := d.Err(); err != nil {
		return nil, err
	}
	if len(w.rules) == 0 {
		return nil, fmt.Errorf("%s has no class with a limit", file)
	}
	text := "# The block I/O classes of " + strconv.Quote(file) + ".\n" +
		"# Pods have one by their annotation " + blockioLabel + "; change match to choose others.\n" +
		"# Weights are those of bfq, where 100 is normal.\nrules:\n" + w.text()
	if _, err := Parse(file, []byte(text)); err != nil {
		return nil, fmt.Errorf("%s can't be written as a policy: %w", file, err)
	}
	return []byte(text), nil
}

// A blockioWriter collects rules as text.
type blockioWriter struct {
	d     *decoder
	rules []blockioRule
}

// text is all rules.
func (w *blockioWriter) text() string {
	var all strings.Builder
	for _, r := range w.rules {
		all.WriteString(r.text)
	}
	return all.String()
}

// classes reads the map of classes.
func (w *blockioWriter) classes(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		w.d.fail(n, "Classes wants a map of names and lists, got %s", strict.Describe(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, list := n.Content[i], n.Content[i+1]
		class := scalar(name)
		switch {
		case name.Kind != yaml.ScalarNode || class == "":
			w.d.fail(name, "a class has no name: no pod can select it")
			continue
		case name.Style == 0 && slices.Contains(truths, strings.ToLower(class)):
			w.d.fail(name, "class %s: YAML reads that as true or false: put it in quotes", strict.Short(class))
			continue
		case strings.ContainsAny(class, "*?"):
			w.d.fail(name, "class %s: in a policy * and ? stand for any characters: give the class another name", strict.Short(class))
			continue
		case list.Tag == "!!null":
			continue
		case list.Kind != yaml.SequenceNode:
			w.d.fail(list, "class %s wants a list of parameters, got %s", strict.Short(class), strict.Describe(list))
			continue
		}
		first, number := len(w.rules), 0
		for _, block := range list.Content {
			w.block(block, class, &number)
		}
		// Parameters for all devices come first.
		slices.SortStableFunc(w.rules[first:], func(a, b blockioRule) int { return cmp.Compare(min(1, len(a.device)), min(1, len(b.device))) })
	}
}

// truths are the words that YAML 1.1, which goresctrl reads, takes for true or false.
var truths = []string{"y", "n", "yes", "no", "on", "off", "true", "false"}

// A blockioRule is a rule as text, and its device, "" for all.
type blockioRule struct{ device, text string }

// block writes the rules of one item of a class.
func (w *blockioWriter) block(n *yaml.Node, class string, number *int) {
	var devices []string
	values := map[limit.Key]string{}
	known := fields{"Devices": func(v *yaml.Node) {
		if v.Kind != yaml.SequenceNode {
			w.d.fail(v, "Devices wants a list, such as [/dev/sda], got %s", strict.Describe(v))
			return
		}
		devices = w.d.patterns(v, "Devices")
	}}
	for name, key := range blockioKeys {
		known[name] = func(v *yaml.Node) {
			if v.Kind == yaml.ScalarNode && v.Value == "" {
				return // An empty block has no effect.
			}
			text, err := blockioValue(key, v)
			if err != nil {
				w.d.fail(v, "%s: %v", name, err)
			}
			values[key] = text
		}
	}
	before := len(w.d.Found)
	w.d.section(withValues(n), "class "+strict.Short(class), known)
	if len(w.d.Found) > before {
		return
	}
	for k := range values {
		if k.Rate() && len(devices) == 0 {
			w.d.fail(n, "class %s: the limits need Devices", strict.Short(class))
			return
		}
	}
	var limits []string
	for _, k := range limit.Keys {
		if v := values[k]; v != "" {
			limits = append(limits, string(k)+": "+v)
		}
	}
	if len(limits) == 0 {
		return
	}
	if len(devices) == 0 {
		devices = []string{""}
	}
	for _, dev := range devices {
		*number++
		rule := fmt.Sprintf("  - name: %s\n    match: {label: {%s: %s}}\n", strconv.Quote(fmt.Sprintf("%s %d", class, *number)), blockioLabel, strconv.Quote(class))
		if dev != "" {
			rule += fmt.Sprintf("    where: {device: %s}\n", strconv.Quote(node(dev)))
		}
		w.rules = append(w.rules, blockioRule{dev, rule + "    limits: {" + strings.Join(limits, ", ") + "}\n"})
	}
}

// withValues returns a map without the keys that have no value: such a key counts as missing.
func withValues(n *yaml.Node) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return n
	}
	out := *n
	out.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i+1].Tag != "!!null" {
			out.Content = append(out.Content, n.Content[i], n.Content[i+1])
		}
	}
	return &out
}

// node escapes a device's path for a policy. In a pattern, a backslash escapes the next character. goresctrl treats
// each device as a pattern, a policy only those with a special character.
func node(device string) string {
	if strings.ContainsAny(device, "*?[") {
		return device
	}
	var out strings.Builder
	escaped := false
	for _, c := range device {
		if escaped = c == '\\' && !escaped; !escaped {
			out.WriteRune(c)
		}
	}
	return out.String()
}

// blockioValue is a parameter's value in a policy's words.
func blockioValue(k limit.Key, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("wants a number, got %s", strict.Describe(n))
	}
	v, err := quantity(scalar(n))
	if err != nil {
		return "", err
	}
	if k == limit.Weight && (v < leastWeight || v > mostWeight) {
		return "", fmt.Errorf("%d is not a weight of a class, which is from %d to %d", v, leastWeight, mostWeight)
	}
	text := strconv.FormatInt(v, 10)
	if k == limit.ReadBPS || k == limit.WriteBPS {
		text = size.Format(v)
	}
	return text, new(limit.Ask).Set(k, text)
}
