package explain

import (
	"path/filepath"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/weight"
)

// A Weight is a disk for weights, and whether they have an effect there.
type Weight struct {
	Name string `json:"name"`
	// Number is absent for a hidden path of an NVMe namespace.
	Number device.Number `json:"number,omitzero"`
	// By is weight.ByBFQ or weight.ByIOCost where weights have an effect on the disk, "" where the kernel accepts
	// them without effect.
	By string `json:"by,omitempty"`
	// Charge is how much of the containers' I/O there is charged to them.
	Charge Verdict `json:"charge,omitempty"`
	// Ready is set where weights have no effect yet and Fix would turn them on.
	Ready bool `json:"ready"`
	// Why says what is missing, Fix how to provide it.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Works reports whether a weight has an effect on the containers' I/O.
func (w Weight) Works() bool { return w.By != "" && w.Charge != Leaks }

// Weight reports whether weights have an effect on a whole disk, by the rule of package weight.
func (h *Host) Weight(d *device.Device) Weight {
	dir := filepath.Join(h.fs.Sys, "block", d.Name)
	e := weight.Place{Root: h.root}.Effect(weight.Disk{Name: d.Name, Number: d.Number, Dir: dir})
	w := Weight{Name: d.Name, Number: d.Number, By: e.By, Ready: e.Ready, Why: e.Why, Fix: e.Fix}
	if e.Works() {
		w.Why = "" // Why is only for what is missing.
	}
	return w
}

// weights lists the disks at the bottom of a tree with the effect of weights there, and marks them in the tree. A
// loop device whose file is on no disk (in memory, on a network) is itself at the bottom.
func (h *Host) weights(l *Layer) []Weight {
	var list []Weight
	var visit func(*Layer) (disk bool)
	visit = func(l *Layer) bool {
		below := false
		for _, b := range l.Below {
			below = visit(b) || below
		}
		if below || l.Device == nil || l.Kind == device.KindPartition {
			return below
		}
		w := h.Weight(l.Device)
		switch {
		case l.Kind == device.KindPath:
			w = Weight{Name: l.Name, Why: "a hidden path of an NVMe namespace has no number to give a weight to"}
		case !l.Device.MQ:
			w.By, w.Ready, w.Fix = "", false, ""
			w.Why = l.Name + " has no request queues of its own (it is not a blk-mq device), which weights share out"
		}
		w.Charge = l.Charge
		if w.By != "" && w.Charge == Leaks {
			w.Why = l.Lost
		}
		if i := slices.IndexFunc(list, func(o Weight) bool { return o.Name == w.Name }); i >= 0 {
			list[i].Charge = worse(list[i].Charge, w.Charge)
		} else {
			list = append(list, w)
		}
		l.Weight = &w
		return true
	}
	visit(l)
	return list
}
