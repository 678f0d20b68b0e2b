package hold

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/text/clean"
)

// A Stray is a group that contains processes of a container but is not covered by the limits of the container's own
// groups.
type Stray struct {
	Group *hierarchy.Group
	// Processes is how many of the container's processes are in it, or have threads in it.
	Processes int
	// Outside is set if the group is not below the container's own, so that setting the container's limits doesn't
	// reach it.
	Outside bool
	// Devices are the rates of the group itself.
	Devices map[device.Number]limit.Limits
}

// Lacks reports whether the group allows more on a device than a limit.
func (l Stray) Lacks(d device.Number, k limit.Key, asked int64) bool {
	has := l.Devices[d]
	n := *has.Whole(k)
	return n == 0 || n > asked
}

// Text says which processes are in the group, and what the group has instead of a limit on a device: "1 process of it
// is in the group /x, which has no write_bps".
func (l Stray) Text(d device.Number, k limit.Key) string {
	are, has := "processes of it are", "has no "+string(k)
	if l.Processes == 1 {
		are = "process of it is"
	}
	if m := l.Devices[d]; m.Has(k) {
		has = fmt.Sprintf("has %s of %s", k, k.PerSecond(float64(*m.Whole(k))))
	}
	return fmt.Sprintf("%d %s in the group %s, which %s", l.Processes, are, clean.Line(l.Group.Path), has)
}

// Mend says what to do about a group that lacks a limit; later is the advice for a group in which limits can be set.
func (l Stray) Mend(later string) string {
	if l.Outside {
		return "move the processes back into the target's group, or limit the group that they are in"
	}
	return later
}

// Entering is how long a process may be in a container's namespaces before it is in its group: runc's exec enters the
// namespaces first, which takes some milliseconds.
const Entering = 200 * time.Millisecond

// strays is StraysNow without the groups outside that a process has left again after Entering.
func (h *Holder) strays(p GroupSet, now *procfs.Processes) ([]Stray, error) {
	list, err := h.StraysNow(p, now)
	outside := func(l Stray) bool { return l.Outside }
	if err != nil || !slices.ContainsFunc(list, outside) {
		return list, err
	}
	time.Sleep(Entering)
	later, err := h.StraysNow(p, procfs.Look(h.FS.Proc))
	return slices.DeleteFunc(later, func(l Stray) bool {
		return l.Outside && !slices.ContainsFunc(list, func(was Stray) bool { return was.Outside && was.Group.Path == l.Group.Path })
	}), err
}

// StraysNow lists the groups with processes of a container that are not the container's own. With version 1 each group
// has its own limits, so groups below the container's own count too. With both versions, a container's processes may
// have been moved to another group. now is the list of processes. A process in a group outside may be about to enter the
// container's: Entering says for how long.
func (h *Holder) StraysNow(p GroupSet, now *procfs.Processes) ([]Stray, error) {
	if p.Target == nil || p.Groups == nil {
		return nil, nil
	}
	groups, err := h.Groups.Charged(p.Groups)
	if err != nil {
		return nil, err
	}
	states, err := h.Groups.Read(p.Groups)
	if err != nil {
		return nil, err
	}
	var list []Stray
	held := map[int]bool{}
	for i, g := range groups {
		threads, n, err := inGroup(g)
		if err != nil {
			return nil, err
		}
		for _, t := range threads {
			held[t] = true
		}
		if n == 0 || i == 0 {
			continue // A later check covers what enters it later.
		}
		for _, s := range states[1:] {
			if s.Group == g.Path {
				list = append(list, Stray{Group: g, Processes: n, Devices: s.Devices})
			}
		}
	}
	inside := []int{p.Target.PID}
	switch {
	case p.Target.PID == 0:
		return list, nil
	case p.Target.Kind == target.Container:
		inside = now.Inside(p.Target.PID)
	case p.Target.Kind != target.Process:
		return list, nil
	}
	return append(list, h.moved(inside, groups[0], held)...), nil
}

// moved lists the groups outside own that contain processes or threads of a target. held are the threads in own and in
// the groups below it. Processes that end in the meantime are omitted.
func (h *Holder) moved(inside []int, own *hierarchy.Group, held map[int]bool) []Stray {
	var list []Stray
	last := map[string]int{} // the process last counted in a group
	for _, p := range inside {
		for _, thread := range h.threads(p, own) {
			if held[thread] {
				continue
			}
			t, g, err := h.of(thread)
			if err != nil || g.Path == own.Path || strings.HasPrefix(g.Path, own.Path+"/") || last[g.Path] == p {
				continue
			}
			if _, err := procfs.Running(h.FS.Proc, thread); err != nil {
				continue // Version 1 shows a process that is exiting in the root group.
			}
			last[g.Path] = p
			if i := slices.IndexFunc(list, func(l Stray) bool { return l.Group.Path == g.Path }); i >= 0 {
				list[i].Processes++
				continue
			}
			has, err := h.effective(t)
			if err != nil {
				continue
			}
			list = append(list, Stray{Group: g, Processes: 1, Outside: true, Devices: has})
		}
	}
	return list
}

// threads returns the threads of a process whose groups must be checked. With version 2, all threads of a process are
// in the same I/O group.
func (h *Holder) threads(pid int, own *hierarchy.Group) []int {
	if own.Version == 2 {
		return []int{pid}
	}
	return procfs.Threads(h.FS.Proc, pid)
}

// of returns the groups that a thread is in, and its I/O group. t is nil if the group takes no limits, or is not
// visible from here.
func (h *Holder) of(thread int) (t *cgroup.Target, g *hierarchy.Group, err error) {
	g, err = h.Groups.Of(thread)
	switch {
	case errors.Is(err, hierarchy.ErrOutside):
		return nil, g, nil
	case err != nil:
		return nil, nil, err
	case g.IsRoot() && g.Version == 2:
		return nil, g, nil
	case g.IsRoot():
		t, err = h.Groups.Device()
	default:
		t, err = h.Groups.Find(thread, "", "")
	}
	return t, g, err
}

// effective returns the limits that apply to a group's processes on each device, including those of the groups above.
func (h *Holder) effective(t *cgroup.Target) (map[device.Number]limit.Limits, error) {
	if t == nil {
		return nil, nil
	}
	states, err := h.Groups.Read(t.Alone())
	if err != nil {
		return nil, err
	}
	above, err := h.Groups.Above(t, hierarchy.IO)
	if err != nil {
		return nil, err
	}
	has := states[0].Devices
	for _, s := range above {
		for d, l := range s.Devices {
			for _, k := range limit.Keys {
				if k.Rate() && l.Below(k, has[d]) {
					has[d] = has[d].With(k, l)
				}
			}
		}
	}
	return has, nil
}

// inGroup lists the threads in a group itself, and counts their processes; it lists none if the group has gone. With
// version 2, all threads of a process are in the same I/O group, so it lists the process instead.
func inGroup(g *hierarchy.Group) (threads []int, processes int, err error) {
	files := []string{"cgroup.procs"}
	if g.Version == 1 {
		files = append(files, "tasks")
	}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(g.Dir, file))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		ids := strings.Fields(string(b))
		if file == "cgroup.procs" {
			processes = len(ids)
		}
		if file == files[len(files)-1] {
			for _, id := range ids {
				if n, err := strconv.Atoi(id); err == nil {
					threads = append(threads, n)
				}
			}
		}
	}
	return threads, processes, nil
}

// StrayNotes returns a sentence for each limit of a container, by device, that doesn't cover some of its processes:
// which groups these are in, and what helps. name returns the name of a device; later is the advice if the group is
// below the container's own.
func (h *Holder) StrayNotes(p GroupSet, own map[device.Number]limit.Limits, now *procfs.Processes, name func(device.Number) string, later string) (notes []string, err error) {
	groups, err := h.strays(p, now)
	for _, g := range groups {
		for _, d := range slices.SortedFunc(maps.Keys(own), func(a, b device.Number) int { return strings.Compare(a.String(), b.String()) }) {
			l := own[d]
			for _, k := range limit.Keys {
				if k.Rate() && l.Has(k) && g.Lacks(d, k, *l.Whole(k)) {
					notes = append(notes, fmt.Sprintf("%s on %s is NOT held: %s; %s", k, name(d), g.Text(d, k), g.Mend(later)))
				}
			}
		}
	}
	return notes, err
}
