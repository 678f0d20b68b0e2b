package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/limit"
)

// An Effect says whether a weight does anything on a device.
type Effect struct {
	Device Device `json:"device"`
	// By is what divides the device by weight: "bfq", "iocost" or "cfq"; "" for nothing, so that a
	// weight would be refused or stand there without effect.
	By string `json:"by,omitempty"`
	// Why says why, in words, and Fix what would change it.
	Why string `json:"why"`
	Fix string `json:"fix,omitempty"`
}

// Works reports whether a weight does anything.
func (e Effect) Works() bool { return e.By != "" }

// WeightEffect says whether a weight of group g takes effect on a device: where bfq schedules it and the
// group has bfq weights, or, in version 2, where iocost is enabled for it. Weights act at the bottom of a
// stack: dm and md devices have no scheduler of their own.
func (h *Host) WeightEffect(g *hierarchy.Group, d Device) Effect {
	e := Effect{Device: d}
	dir := h.sysfs(d)
	if dir == "" {
		e.Why = "there is no block device " + d.String() + " here (any more)"
		return e
	}
	name := filepath.Base(dir)
	chosen, offered := schedulers(h.text(dir, "queue/scheduler"))
	for _, s := range weightScales(g.Version) {
		if s.by == chosen && h.hasAny(g, s.files) {
			e.By, e.Why = s.by, fmt.Sprintf("%s is scheduled by %s, which divides it by weight", name, chosen)
			return e
		}
	}
	if h.iocost(g, d) {
		e.By, e.Why = "iocost", "iocost is enabled for "+name+" and divides it by weight"
		return e
	}
	switch below := h.below(dir); {
	case len(below) > 0:
		e.Why = fmt.Sprintf("%s has no scheduler of its own", name)
		e.Fix = "give the weight to what it stands on: " + strings.Join(below, ", ")
	case chosen == "bfq":
		e.Why = fmt.Sprintf("%s is scheduled by bfq, but this kernel has no bfq weights for groups (CONFIG_BFQ_GROUP_IOSCHED)", name)
	case offered == nil:
		e.Why = fmt.Sprintf("%s has no scheduler, and only bfq and iocost divide a disk by weight", name)
	default:
		e.Why = fmt.Sprintf("%s is scheduled by %s, and only bfq and iocost divide a disk by weight", name, chosen)
		e.Fix = fmt.Sprintf("echo bfq > %s", filepath.Join(h.fs.Sys, "block", name, "queue/scheduler"))
		if !slices.Contains(offered, "bfq") {
			e.Fix = "modprobe bfq, then " + e.Fix
		}
	}
	return e
}

// hasAny reports whether a group has one of the files. The root never has weights.
func (h *Host) hasAny(g *hierarchy.Group, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		_, err := os.Stat(filepath.Join(g.Dir, n))
		return err == nil
	})
}

// schedulers reads "none [mq-deadline] bfq"; offered is nil where there is no queue to schedule.
func schedulers(text string) (chosen string, offered []string) {
	for _, s := range strings.Fields(text) {
		if name, ok := strings.CutPrefix(s, "["); ok {
			s = strings.TrimSuffix(name, "]")
			chosen = s
		}
		offered = append(offered, s)
	}
	return chosen, offered
}

// below lists the names of the devices that one is made of.
func (h *Host) below(dir string) []string {
	// They are links to folders.
	entries, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// PlanWeights plans what makes weights take effect on a device: bfq as its scheduler (by "bfq"), or
// iocost enabled for it (by "iocost", version 2 only). Both change the device for everybody, so nothing does this
// unless it is asked for. Undoing it is the caller's, by the diff's Was.
func (h *Host) PlanWeights(d Device, by string) (*Diff, error) {
	keys := []limit.Key{limit.Weight}
	if err := h.checkDevice(d); err != nil {
		return nil, err
	}
	switch by {
	case "iocost":
		return h.PlanQoS(d, QoS{Enable: true})
	case "bfq":
	default:
		return nil, &Fault{Keys: keys, Device: d.String(), Why: fmt.Sprintf("%q divides no disk by weight", by), Fix: "choose bfq or iocost"}
	}
	diff := &Diff{host: h}
	dir := h.sysfs(d)
	chosen, offered := schedulers(h.text(dir, "queue/scheduler"))
	switch {
	case offered == nil:
		return nil, &Fault{Keys: keys, Device: d.String(), Why: filepath.Base(dir) + " has no scheduler", Fix: "name the disk at the bottom of the stack", Err: ErrUnsupported}
	case chosen == by:
		diff.Held++
	default:
		// A module that isn't loaded yet is loaded by the kernel (elv_iosched_store).
		file := filepath.Join(dir, "queue/scheduler")
		diff.Edits = []Edit{{File: file, Device: d.String(), Text: []string{by}, Was: []string{chosen}}}
	}
	return diff, nil
}
