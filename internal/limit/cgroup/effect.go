package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/weight"
)

// WeightEffect reports whether a weight of group g has an effect on a device, by the rule of package weight.
func (h *Host) WeightEffect(g *hierarchy.Group, d device.Number) weight.Effect {
	dir := h.sysfs(d)
	root, err := h.tree.Root(hierarchy.IO)
	if err != nil {
		root = nil
	}
	return weight.Place{Root: root, Group: g}.Effect(weight.Disk{Name: filepath.Base(dir), Number: d, Dir: dir})
}

// hasAny reports whether a group has one of the files. The root never has weights.
func (h *Host) hasAny(g *hierarchy.Group, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		_, err := os.Stat(filepath.Join(g.Dir, n))
		return err == nil
	})
}

// PlanWeights plans the changes that make weights effective on a device: bfq as its scheduler (by "bfq"), or iocost
// enabled for it (by "iocost", version 2 only). Both affect all users of the device, so they are only done on
// request. The caller undoes them with the diff's Was.
func (h *Host) PlanWeights(d device.Number, by string) (*Diff, error) {
	keys := []limit.Key{limit.Weight}
	if err := h.checkDevice(d); err != nil {
		return nil, err
	}
	switch by {
	case weight.ByIOCost:
		return h.PlanQoS(d, QoS{Enable: true})
	case weight.ByBFQ:
	default:
		return nil, &Fault{Keys: keys, Device: d, Why: fmt.Sprintf("%q divides no disk by weight", by), Fix: "choose bfq or iocost"}
	}
	diff := &Diff{host: h}
	dir := h.sysfs(d)
	chosen, offered := weight.Schedulers(h.text(dir, "queue/scheduler"))
	switch {
	case offered == nil:
		return nil, &Fault{Keys: keys, Device: d, Why: filepath.Base(dir) + " has no scheduler", Fix: "name the disk at the bottom of the stack", Err: ErrUnsupported}
	case chosen == by:
		diff.Held++
	default:
		// The kernel loads the scheduler's module if needed (elv_iosched_store).
		file := filepath.Join(dir, "queue/scheduler")
		diff.Edits = []Edit{{File: file, Device: d, Text: []string{by}, Was: []string{chosen}}}
	}
	return diff, nil
}

// Weighs reports whether weights are effective on a device already.
func (h *Host) Weighs(d device.Number, by string) bool {
	diff, err := h.PlanWeights(d, by)
	return err == nil && diff.Empty()
}

// Restore writes the values from before edits, the last first.
func (h *Host) Restore(edits []Edit) error {
	for _, e := range slices.Backward(edits) {
		for _, text := range e.Was {
			if err := h.io.write(e.File, text); err != nil {
				return h.refused(&e, text, err)
			}
		}
	}
	return nil
}
