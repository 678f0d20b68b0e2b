package policy

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/limit"
	"plimsoll/internal/size"
)

// blockioLabel is the annotation of a pod that names its class (intel/goresctrl, pkg/blockio/kubernetes.go).
const blockioLabel = "blockio.resources.beta.kubernetes.io/pod"

// blockioKeys are the parameters of a class (intel/goresctrl, pkg/blockio/blockio.go, type DevicesParameters), with the limits
// that they are.
var blockioKeys = map[string]limit.Key{
	"ThrottleReadBps": limit.ReadBPS, "ThrottleWriteBps": limit.WriteBPS,
	"ThrottleReadIOPS": limit.ReadIOPS, "ThrottleWriteIOPS": limit.WriteIOPS,
	"Weight": limit.Weight,
}

// FromBlockIO turns the classes of a block I/O configuration, as containerd and CRI-O read it
// (/etc/containers/blockio.yaml), into the text of a policy that Parse reads. file is its name, for messages.
//
// A class becomes one rule for each of its blocks and devices, for the pods whose annotation names it; as there, the last
// of several decides. The error is of type Errors.
func FromBlockIO(file string, data []byte) ([]byte, error) {
	d := &decoder{file: file}
	var doc yaml.Node
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s is larger than %d bytes, which no such configuration is", file, MaxSize)
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		d.syntax(err)
		return nil, d.errors()
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("%s is empty: it needs Classes", file)
	}
	w := &blockioWriter{d: d}
	d.section(doc.Content[0], "a block I/O configuration", fields{"Classes": w.classes})
	if err := d.errors(); err != nil {
		return nil, err
	}
	if len(w.rules) == 0 {
		return nil, fmt.Errorf("%s has no class with a limit", file)
	}
	text := "# The block I/O classes of " + strconv.Quote(file) + ".\n" +
		"# Pods have one by their annotation " + blockioLabel + "; change match to choose others.\n" +
		"# Weights are those of bfq, where 100 is normal.\nrules:\n" + strings.Join(w.rules, "")
	if _, err := Parse(file, []byte(text)); err != nil {
		return nil, fmt.Errorf("%s can't be said as a policy: %w", file, err)
	}
	return []byte(text), nil
}

// errors are all faults, or nil.
func (d *decoder) errors() error {
	if len(d.faults) == 0 {
		return nil
	}
	var all Errors
	for _, f := range d.faults {
		all = append(all, f)
	}
	return all
}

// A blockioWriter collects rules as text.
type blockioWriter struct {
	d     *decoder
	rules []string
}

func (w *blockioWriter) classes(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		w.d.fail(n, "Classes wants a map of names and lists, got %s", describe(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, list := n.Content[i], resolved(n.Content[i+1])
		if list.Kind != yaml.SequenceNode {
			w.d.fail(list, "class %s wants a list of parameters, got %s", short(name.Value), describe(list))
			continue
		}
		number := 0
		for _, block := range list.Content {
			w.block(resolved(block), name.Value, &number)
		}
	}
}

// block writes the rules of one item of a class.
func (w *blockioWriter) block(n *yaml.Node, class string, number *int) {
	var devices []string
	values := map[limit.Key]string{}
	known := fields{"Devices": func(v *yaml.Node) { devices = w.d.patterns(v, "Devices") }}
	for name, key := range blockioKeys {
		known[name] = func(v *yaml.Node) {
			text, err := blockioValue(key, v)
			if err != nil {
				w.d.fail(v, "%s: %v", name, err)
			}
			values[key] = text
		}
	}
	before := len(w.d.faults)
	w.d.section(n, "class "+short(class), known)
	if len(w.d.faults) > before {
		return
	}
	for k := range values {
		if k.Rate() && len(devices) == 0 {
			w.d.fail(n, "class %s: limits without Devices, which they need", short(class))
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
			rule += fmt.Sprintf("    where: {device: %s}\n", strconv.Quote(dev))
		}
		w.rules = append(w.rules, rule+"    limits: {"+strings.Join(limits, ", ")+"}\n")
	}
}

// blockioValue is a parameter's value in a policy's words.
func blockioValue(k limit.Key, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("wants a number, got %s", describe(n))
	}
	v, err := quantity(n.Value)
	if err != nil {
		return "", err
	}
	text := strconv.FormatInt(v, 10)
	if k == limit.ReadBPS || k == limit.WriteBPS {
		text = size.Format(v)
	}
	return text, new(limit.Ask).Set(k, text)
}

// suffixes are those of Kubernetes' quantities (k8s.io/apimachinery, pkg/api/resource/suffix.go).
var suffixes = []struct {
	name  string
	times int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"", 1},
}

// quantity reads a whole number as Kubernetes writes it: "50M" is 50,000,000, and "50Mi" 52,428,800.
func quantity(s string) (int64, error) {
	i := slices.IndexFunc(suffixes, func(x struct {
		name  string
		times int64
	}) bool {
		return strings.HasSuffix(s, x.name)
	})
	digits := strings.TrimSuffix(s, suffixes[i].name)
	bad := fmt.Errorf("%s is no quantity such as 50M, 10Mi or 500", short(s))
	if digits == "" || strings.Trim(digits, "0123456789.") != "" || len(digits) > 40 {
		return 0, bad
	}
	r, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, bad
	}
	r.Mul(r, new(big.Rat).SetInt64(suffixes[i].times))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, errors.New(short(s) + " is no whole number that fits")
	}
	return r.Num().Int64(), nil
}
