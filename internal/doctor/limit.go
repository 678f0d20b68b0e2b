package doctor

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/weight"
)

// A mounted is where a controller is mounted.
type mounted struct {
	version int // 0: nowhere
	dir     string
}

// where finds a controller's hierarchy.
func where(tree *hierarchy.Tree, c hierarchy.Controller) mounted {
	root, err := tree.Root(c)
	if err != nil {
		return mounted{}
	}
	return mounted{root.Version, root.Dir}
}

func (h mounted) words() string {
	switch h.version {
	case 1:
		return "cgroup version 1"
	case 2:
		return "cgroup version 2"
	}
	return "not mounted"
}

// occupied reports whether version 2's rule of no internal processes keeps the controller from the groups below. That
// is so in a container that sees its own group as the root; the true root is exempt, and has no cgroup.type.
func (h mounted) occupied(c string) bool {
	return h.version == 2 && device.Exists(h.dir, "cgroup.type") && device.Text(h.dir, "cgroup.procs") != "" &&
		!slices.Contains(strings.Fields(device.Text(h.dir, "cgroup.subtree_control")), c)
}

// limit examines what limits need.
func (e *examination) limit(tree *hierarchy.Tree) {
	io, host := where(tree, hierarchy.IO), explain.On(e.o.FS, tree)
	rates := Item{ID: "limit/io", What: "the kernel's I/O rates by " + io.words()}
	if io.version == 0 {
		rates.What = "I/O rates"
	}
	e.ability(rates, host.Rates())
	e.ability(Item{ID: "limit/buffered", What: "limits on buffered writes"}, host.Buffered())
	e.weights(host)
	e.latency(io)
	for _, controller := range []hierarchy.Controller{hierarchy.CPU, hierarchy.Memory} {
		h, c := where(tree, controller), controller.V2
		i := Item{ID: "limit/" + c, Group: Limit, Status: OK, What: c + " limits by " + h.words()}
		if h.version == 0 {
			i.Status, i.What, i.Why = No, c+" limits", "no "+c+" controller is mounted"
		}
		if h.occupied(c) {
			i.Status = No
			i.Why = h.dir + " is not the root of the hierarchy and contains processes, so no group below it can have the controller"
			i.Fix = "mkdir " + h.dir + "/init && xargs -n1 <" + h.dir + "/cgroup.procs >" + h.dir + "/init/cgroup.procs"
		}
		e.add(i)
	}
	if io.version != 0 && !writable(io.dir) {
		e.add(Item{"limit/root", Limit, No, "setting limits", "control groups are not writable for this user", "run as root"})
	}
}

// ability adds an ability to limit. Its words replace the item's, where it has any.
func (e *examination) ability(i Item, a explain.Ability) {
	i.Group, i.Status, i.Fix = Limit, a.Status, a.Fix
	if a.Why != "" {
		i.Why = a.Why
	}
	e.add(i)
}

// weights reports whether relative weights have an effect on any disk. If not, the report is about the disk that
// lacks least.
func (e *examination) weights(host *explain.Host) {
	i := Item{ID: "limit/weight", Group: Limit, Status: No, What: "I/O weights", Why: "there is no disk"}
	by := map[string][]string{}
	queues, _ := filepath.Glob(filepath.Join(e.o.FS.Sys, "block/*/queue/scheduler"))
	for _, q := range queues {
		dir := filepath.Dir(filepath.Dir(q))
		name := filepath.Base(dir)
		if strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "zram") || strings.HasPrefix(name, "ram") {
			continue
		}
		w := host.Weight(device.Block(dir))
		by[w.By] = append(by[w.By], name)
		switch {
		case w.By != "":
			i.Status = OK
		case i.Status == No && w.Ready:
			i.Status, i.Why, i.Fix = Partly, w.Why, w.Fix
		case i.Status == No:
			i.Why, i.Fix = w.Why, w.Fix
		}
	}
	if i.Status == OK {
		var parts []string
		for _, what := range slices.Sorted(maps.Keys(by)) {
			if what != "" {
				parts = append(parts, "by "+what+" on "+strings.Join(by[what], ", "))
			}
		}
		i.What, i.Why, i.Fix = "I/O weights "+strings.Join(parts, " and "), "", ""
	}
	e.add(i)
}

// latency reports whether groups can have a latency target.
func (e *examination) latency(io mounted) {
	i := Item{ID: "limit/latency", Group: Limit, Status: OK, What: "I/O latency targets (io.latency)"}
	switch {
	case io.version != 2:
		i.Status, i.Why = No, "they need cgroup version 2"
	case !weight.InAnyGroup(io.dir, "io.latency"):
		i.Status, i.Why = No, "no group has io.latency (CONFIG_BLK_CGROUP_IOLATENCY)"
	}
	e.add(i)
}
