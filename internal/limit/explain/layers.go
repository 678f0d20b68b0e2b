package explain

import (
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A Layer is a node of the tree, with the effect of limits there.
type Layer struct {
	*device.Node
	// Limit marks the device for a hard limit.
	Limit bool `json:"limit"`
	// Weight is set on a device for a weight.
	Weight *Weight `json:"weight,omitempty"`
	// Charge is how much of the I/O held at the top is still charged to the container here. A limit on a layer where
	// it isn't Covered lets the rest pass.
	Charge Verdict `json:"charge"`
	// Lost says where the charge is lost.
	Lost string `json:"lost,omitempty"`
	// Below replaces the node's own field.
	Below []*Layer `json:"below"`
}

// layers follows the charge down a tree.
func (h *Host) layers(n *device.Node) *Layer { return h.layer(n, Covered, "") }

func (h *Host) layer(n *device.Node, charge Verdict, lost string) *Layer {
	l := &Layer{Node: n, Charge: charge, Lost: lost}
	for _, b := range n.Below {
		c, why := h.handsOn(n, b)
		under, reason := worse(charge, c), lost
		if rank[c] > rank[charge] {
			reason = why
		}
		l.Below = append(l.Below, h.layer(b, under, reason))
	}
	return l
}

// mark marks the devices for hard limits.
func (l *Layer) mark(spots []Spot) {
	if l.Device != nil && l.Kind != device.KindPartition && slices.ContainsFunc(spots, func(s Spot) bool { return s.Name == l.Name }) {
		l.Limit = true
		return // Devices beneath a limit get none.
	}
	for _, b := range l.Below {
		b.mark(spots)
	}
}

// handsOn is how much of the I/O charged to a container at n is still charged to it at the layer below, and why not
// all.
func (h *Host) handsOn(n, below *device.Node) (Verdict, string) {
	switch n.Kind {
	case device.KindMount:
		if below.Role == device.RoleLog {
			return Leaks, "a thread of the kernel writes the log of " + n.Mount.FSType
		}
	case device.KindLoop:
		return h.loop(n, below)
	case device.KindMD:
		return parity("md "+n.Level, n.Level)
	case device.KindBcache:
		// With writeback, too, large and sequential I/O bypasses the cache and stays charged to its submitter.
		if n.CacheMode == "writeback" && below.Role == device.RoleBacking {
			return Partly, "threads of bcache write back the cached data"
		}
		return Partly, "threads of bcache fill the cache and clean it up"
	case device.KindDM:
		return mapper(n)
	}
	return Covered, ""
}

// loop is about loop devices: since Linux 5.14 their thread does the I/O for the group that asked for it. Its writes
// to the page cache of the backing file are buffered writes like any others.
func (h *Host) loop(n, below *device.Node) (Verdict, string) {
	file := "the page cache of " + n.Name + "'s file is written out by the kernel's flusher"
	switch {
	case !h.since(5, 14):
		return Leaks, "the thread of " + n.Name + " does the I/O in the root group (before Linux 5.14)"
	case n.DirectIO || below.Kind != device.KindMount:
		return Covered, ""
	}
	if m := h.writeRules(below.Data().Mount)(Buffered); m.Group == Late {
		return Late, file + ", for the group that wrote"
	}
	return Leaks, file
}

// parity is about stripes with parity: a thread assembles them from the writes of several groups.
func parity(what, level string) (Verdict, string) {
	for _, l := range []string{"raid4", "raid5", "raid6"} {
		if strings.HasPrefix(level, l) {
			return Leaks, "a thread of " + what + " writes the stripes"
		}
	}
	return Covered, ""
}

// threads are the targets of the device mapper that do some or all of their I/O in their own threads.
// Threads of crypt submit for the group that asked since commit 2df8b310bcfe ("dm: use bio_clone_blkg_association").
var threads = map[string]struct {
	charge Verdict
	why    string
}{
	"thin":            {Partly, "a thread of the thin pool allocates, zeroes and copies blocks and writes the metadata"},
	"thin-pool":       {Partly, "a thread of the thin pool allocates, zeroes and copies blocks and writes the metadata"},
	"snapshot":        {Partly, "a thread copies the data that a snapshot keeps"},
	"snapshot-origin": {Partly, "a thread copies the data that a snapshot keeps"},
	"snapshot-merge":  {Leaks, "a thread merges the snapshot"},
	"mirror":          {Leaks, "a thread of the mirror writes to all of its sides"},
	"cache":           {Partly, "a thread of the cache moves blocks in and out of it"},
	"writecache":      {Partly, "a thread of writecache writes back the cached data"},
	"clone":           {Partly, "a thread of clone copies the blocks"},
	"era":             {Partly, "a thread of era writes its metadata"},
	"integrity":       {Leaks, "threads of integrity write the data and its checksums"},
	"vdo":             {Leaks, "threads of vdo write the data that remains after deduplication"},
	"zoned":           {Partly, "threads of zoned reclaim zones"},
	"crypt":           {Partly, "threads of crypt encrypt and write it: in the root group, on kernels without a fix of February 2026"},
}

// mapper is about the device mapper: linear, striped and multipath pass I/O on with its charge.
func mapper(n *device.Node) (Verdict, string) {
	charge, why := Covered, ""
	worst := func(c Verdict, w string) {
		if rank[c] > rank[charge] {
			charge, why = c, w
		}
	}
	for _, t := range n.Targets {
		if t.Type == "raid" {
			worst(parity(t.Level, t.Level))
		}
		if th, ok := threads[t.Type]; ok {
			worst(th.charge, th.why)
		}
	}
	if len(n.Targets) > 0 {
		return charge, why
	}
	switch {
	case n.Maker == "CRYPT":
		t := threads["crypt"]
		return t.charge, t.why
	case n.Maker == "mpath" || strings.HasPrefix(n.Maker, "part"):
		return Covered, ""
	}
	return Partly, "what " + n.Name + " is made of is visible to root only: RAID, thin pools and caches of LVM do their I/O in threads"
}
