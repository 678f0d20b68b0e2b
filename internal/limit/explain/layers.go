package explain

import (
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A Layer is a node of the tree, with what limits do there.
type Layer struct {
	*device.Node
	// Limit is set where a hard limit goes.
	Limit bool `json:"limit"`
	// Weight is set where a weight goes.
	Weight *Weight `json:"weight,omitempty"`
	// Charge reports how much of what is held at the top is still charged to the container here. A limit
	// on a layer where it isn't Held lets the rest through.
	Charge Verdict `json:"charge"`
	// Lost says by what it got lost.
	Lost string `json:"lost,omitempty"`
	// Below stands in for the node's own.
	Below []*Layer `json:"below"`
}

// layers follows the charge down a tree.
func (h *Host) layers(n *device.Node) *Layer { return h.layer(n, Held, "") }

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

// mark marks the devices of hard limits.
func (l *Layer) mark(spots []Spot) {
	if l.Device != nil && l.Kind != device.KindPartition && slices.ContainsFunc(spots, func(s Spot) bool { return s.Name == l.Name }) {
		l.Limit = true
		return // What is beneath a limit gets none.
	}
	for _, b := range l.Below {
		b.mark(spots)
	}
}

// handsOn reports how much of what is charged to a container at a layer still is at the one
// below, and why not all.
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
		// With writeback, too, large and sequential I/O goes past the cache, in the name of who asked for it.
		if n.CacheMode == "writeback" && below.Role == device.RoleBacking {
			return Partly, "threads of bcache write back the cached data"
		}
		return Partly, "threads of bcache fill the cache and clean it up"
	case device.KindDM:
		return mapper(n)
	}
	return Held, ""
}

// loop: the thread of a loop device does its I/O for the group that asked for it, since Linux 5.14. What it writes to
// the page cache of the file's own file system is subject to the same rules as any buffered write.
func (h *Host) loop(n, below *device.Node) (Verdict, string) {
	file := "the page cache of " + n.Name + "'s file is written out by the kernel's flusher"
	switch {
	case !h.since(5, 14):
		return Leaks, "the thread of " + n.Name + " does the I/O in the root group (before Linux 5.14)"
	case n.DirectIO || below.Kind != device.KindMount:
		return Held, ""
	}
	if m := h.writeRules(below.Data().Mount)(Buffered); m.Group == Late {
		return Late, file + ", for the group that wrote"
	}
	return Leaks, file
}

// parity: what stripes with parity write is put together by a thread, from the writes of many.
func parity(what, level string) (Verdict, string) {
	for _, l := range []string{"raid4", "raid5", "raid6"} {
		if strings.HasPrefix(level, l) {
			return Leaks, "a thread of " + what + " writes the stripes"
		}
	}
	return Held, ""
}

// threads are the targets of the device mapper that do a part of their I/O in threads of their own, or all of it.
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

// mapper: linear, striped and multipath hand on what they get with its charge.
func mapper(n *device.Node) (Verdict, string) {
	charge, why := Held, ""
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
		return Held, ""
	}
	return Partly, "what " + n.Name + " is made of is visible to root only: RAID, thin pools and caches of LVM do their I/O in threads"
}
