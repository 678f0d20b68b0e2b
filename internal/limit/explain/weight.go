package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/device"
)

// What gives weights an effect.
const (
	ByBFQ    = "bfq"
	ByIOCost = "iocost"
)

// A Weight is a disk that weights go on, and whether they do anything there.
type Weight struct {
	Name  string `json:"name"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	// By is ByBFQ or ByIOCost where weights have an effect on the disk, "" where they have none: the
	// kernel takes them all the same.
	By string `json:"by,omitempty"`
	// Charge says how much of what the path's containers do there is charged to them.
	Charge Verdict `json:"charge,omitempty"`
	// Ready is set where they have none, but the kernel has what it takes: Fix turns it on.
	Ready bool `json:"ready,omitempty"`
	// Why says what is missing, Fix what would mend it.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Works reports whether a weight has an effect on what the path's containers do.
func (w Weight) Works() bool { return w.By != "" && w.Charge != Leaks }

// weightFile is the file of a group that a weight for bfq is written to.
func (h *Host) weightFile() string {
	if h.IO == 2 {
		return "io.bfq.weight"
	}
	return "blkio.bfq.weight"
}

// Weight says whether weights have an effect on a whole disk.
func (h *Host) Weight(d *device.Device) Weight {
	w := Weight{Name: d.Name, Major: d.Major, Minor: d.Minor}
	number := fmt.Sprintf("%d:%d", d.Major, d.Minor)
	schedulers := strings.Fields(device.Text(h.fs.Sys, "block", d.Name, "queue", "scheduler"))
	qos := h.IO == 2 && device.Exists(h.dir, "io.cost.qos")
	switch {
	case h.IO == 0:
		w.Why = "no I/O controller"
	case qos && h.iocost(number):
		w.By = ByIOCost
	case slices.Contains(schedulers, "[bfq]") && !InAnyGroup(h.dir, h.weightFile()):
		w.Why = "bfq schedules " + d.Name + ", but the kernel has no " + h.weightFile()
	case slices.Contains(schedulers, "[bfq]"):
		w.By = ByBFQ
	case slices.Contains(schedulers, "bfq"):
		w.Ready = true
		w.Why, w.Fix = "bfq is there but doesn't schedule "+d.Name, "echo bfq > /sys/block/"+d.Name+"/queue/scheduler"
		if !InAnyGroup(h.dir, h.weightFile()) {
			w.Why += ", and no group shows " + h.weightFile()
		}
	case qos:
		w.Ready = true
		w.Why = "iocost is there but not enabled for " + d.Name
		w.Fix = fmt.Sprintf("echo \"%s enable=1\" > %s", number, filepath.Join(h.dir, "io.cost.qos"))
	default:
		w.Why, w.Fix = d.Name+" is not scheduled by bfq, and there is no iocost: a weight would be accepted without effect", "modprobe bfq"
	}
	return w
}

// iocost reports whether iocost is enabled for a disk: "254:0 enable=1 ctrl=auto ...".
func (h *Host) iocost(number string) bool {
	for line := range strings.Lines(device.Text(h.dir, "io.cost.qos")) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == number {
			return slices.Contains(f, "enable=1")
		}
	}
	return false
}

// weights lists the disks at the bottom of a tree with what weights do there, and marks them in it.
func (h *Host) weights(l *Layer) []Weight {
	var list []Weight
	var visit func(*Layer)
	visit = func(l *Layer) {
		for _, b := range l.Below {
			visit(b)
		}
		if len(l.Below) > 0 || l.Device == nil || l.Kind == device.KindPartition {
			return
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
	}
	visit(l)
	return list
}
