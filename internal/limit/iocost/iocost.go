// Package iocost configures the part of the kernel that divides a disk by weight, in the root group of version 2. It
// has two files: the latency targets (io.cost.qos) and the model of the disk (io.cost.model). Package iocost writes
// both, or neither.
package iocost

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// A Result is the outcome of a setting.
type Result struct {
	DryRun bool          `json:"dry_run"`
	Device string        `json:"device"`
	Number device.Number `json:"number"`
	Edits  []cgroup.Edit `json:"edits"`
}

// Text returns what was written, and the command that restores the earlier values.
func (r Result) Text() string {
	var b strings.Builder
	verb := "set"
	if r.DryRun {
		verb = "would write"
	}
	if len(r.Edits) == 0 {
		fmt.Fprintf(&b, "%s (%s): unchanged\n", clean.Line(r.Device), r.Number)
	}
	for _, e := range r.Edits {
		fmt.Fprintf(&b, "%s (%s): %s %q in %s, for all its users\n", clean.Line(r.Device), r.Number, verb, strings.Join(e.Text, ", "), e.File)
	}
	for _, e := range slices.Backward(r.Edits) {
		for _, text := range e.Was {
			fmt.Fprintf(&b, "  to restore: echo %q > %s\n", text, e.File)
		}
	}
	return b.String()
}

// Disk returns the disk whose queue serves a device.
func Disk(h *explain.Host, path string) (device.Number, string, error) {
	if st, err := os.Stat(path); err != nil || st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0 {
		return device.Number{}, "", usage.Errorf("%s is not a block device of this machine: name one, such as /dev/sda", path)
	}
	e, err := h.Path(path)
	if err != nil {
		return device.Number{}, "", err
	}
	if len(e.Weights) != 1 {
		var names []string
		for _, w := range e.Weights {
			names = append(names, device.NodePath(w.Name))
		}
		why := "no disk below it has a queue that weights could divide"
		if len(names) > 0 {
			why = "it stands on " + strings.Join(names, " and ") + ": name one"
		}
		return device.Number{}, "", usage.Errorf("%s: %s", path, why)
	}
	w := e.Weights[0]
	return w.Number, w.Name, nil
}

// A Setting is the configuration that a user asks for. A nil field is left as it is.
type Setting struct {
	QoS   *cgroup.QoS
	Model *cgroup.Model
}

// Apply plans both files before it writes the first. If the kernel refuses one, it restores the other.
func (c Setting) Apply(h *cgroup.Host, d device.Number, dry bool) (edits []cgroup.Edit, err error) {
	var diffs []*cgroup.Diff
	if c.Model != nil {
		diff, err := h.PlanModel(d, *c.Model)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, diff)
	}
	if c.QoS != nil {
		diff, err := h.PlanQoS(d, *c.QoS)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, diff)
	}
	x := h.Begin()
	for _, diff := range diffs {
		if !dry {
			if _, err := x.Apply(diff); err != nil {
				return nil, x.Undo(context.Background(), err)
			}
		}
		edits = append(edits, diff.Edits...)
	}
	return edits, nil
}

// Parse reads a setting from words such as "rpct=95". The error is the user's.
func Parse(qos, model []string) (c Setting, err error) {
	if len(qos) == 0 && len(model) == 0 {
		return c, usage.Errorf("nothing is asked for: give --qos, such as --qos rpct=95,rlat=5ms, or --model")
	}
	if len(qos) > 0 {
		q := cgroup.QoS{Enable: true}
		number := func(to *float64) func(string) error {
			return func(s string) (err error) { *to, err = strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64); return err }
		}
		if err := pairs("--qos", qos, map[string]func(string) error{
			"enable": func(s string) (err error) { q.Enable, err = strconv.ParseBool(s); return err },
			"rpct":   number(&q.RPct), "wpct": number(&q.WPct), "min": number(&q.Min), "max": number(&q.Max),
			"rlat": func(s string) (err error) { q.RLat, err = size.ParseDuration(s); return err },
			"wlat": func(s string) (err error) { q.WLat, err = size.ParseDuration(s); return err },
		}); err != nil {
			return c, &usage.Error{Err: err}
		}
		c.QoS = &q
	}
	if len(model) > 0 {
		var m cgroup.Model
		rate := func(to *int64) func(string) error {
			return func(s string) (err error) { *to, err = size.ParseRate(s); return err }
		}
		count := func(to *int64) func(string) error {
			return func(s string) (err error) { *to, err = strconv.ParseInt(s, 10, 64); return err }
		}
		if err := pairs("--model", model, map[string]func(string) error{
			"rbps": rate(&m.RBPS), "wbps": rate(&m.WBPS), "rseqiops": count(&m.RSeqIOPS), "rrandiops": count(&m.RRandIOPS),
			"wseqiops": count(&m.WSeqIOPS), "wrandiops": count(&m.WRandIOPS),
		}); err != nil {
			return c, &usage.Error{Err: err}
		}
		c.Model = &m
	}
	return c, nil
}

// pairs reads words such as "rpct=95"; each key may appear once.
func pairs(flag string, words []string, keys map[string]func(string) error) error {
	seen := map[string]bool{}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		set := keys[k]
		switch {
		case !ok || set == nil:
			names := make([]string, 0, len(keys))
			for n := range keys {
				names = append(names, n)
			}
			slices.Sort(names)
			return fmt.Errorf("%s %s: write KEY=VALUE with one of %s", flag, w, strings.Join(names, ", "))
		case seen[k]:
			return fmt.Errorf("%s: %s is given twice", flag, k)
		}
		seen[k] = true
		if err := set(v); err != nil {
			return fmt.Errorf("%s %s: %w", flag, w, err)
		}
	}
	return nil
}
