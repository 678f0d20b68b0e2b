package explain

import (
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/weight"
)

// A Weight is a disk that weights go on, and whether they do anything there.
type Weight struct {
	Name  string `json:"name"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	// By is weight.ByBFQ or weight.ByIOCost where weights have an effect on the disk, "" where they have none: the
	// kernel takes them all the same.
	By string `json:"by,omitempty"`
	// Charge reports how much of what the path's containers do there is charged to them.
	Charge Verdict `json:"charge,omitempty"`
	// Ready is set where they have none, but the kernel has what it takes: Fix turns it on.
	Ready bool `json:"ready"`
	// Why says what is missing, Fix what would mend it.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Number is the disk's.
func (w Weight) Number() device.Number { return device.Number{Major: w.Major, Minor: w.Minor} }

// Works reports whether a weight has an effect on what the path's containers do.
func (w Weight) Works() bool { return w.By != "" && w.Charge != Leaks }

// Weight reports whether weights have an effect on a whole disk, by the one rule that there is for that (package
// weight).
func (h *Host) Weight(d *device.Device) Weight {
	dir := filepath.Join(h.fs.Sys, "block", d.Name)
	e := weight.Place{Root: h.root}.Effect(weight.Disk{Name: d.Name, Number: fmt.Sprintf("%d:%d", d.Major, d.Minor), Dir: dir})
	w := Weight{Name: d.Name, Major: d.Major, Minor: d.Minor, By: e.By, Ready: e.Ready, Why: e.Why, Fix: e.Fix}
	if e.Works() {
		w.Why = "" // It says what is missing.
	}
	return w
}

// weights lists the disks at the bottom of a tree with what weights do there, and marks them in it. A loop device whose
// file is on no disk (in memory, on a network) is at the bottom itself.
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
			w.Why = l.Name + " has no request queues of its own (it is no blk-mq device), which weights share out"
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
