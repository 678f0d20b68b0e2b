package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// explain adds to each row that is not held why not, if known, and what to do about it.
func (v subject) explain(rows []row.Row) {
	for i := range rows {
		if r := &rows[i]; r.Verdict == judge.NotHeld {
			if len(r.Changed) > 0 {
				r.Why, r.Fix = r.ChangedWords(), fmt.Sprintf("plimsoll limit show %s%s prints the present limits; set the limit again if need be, and verify while nothing changes it", v.Target, v.Flags)
				continue
			}
			if r.Together {
				r.Why, r.Fix = v.together(r.Key)
				continue
			}
			r.Why, r.Fix = v.reason(r.Key, r.Mode)
		} else if r.Verdict == judge.Unproved {
			r.Why += v.lower(*r)
		}
	}
}

// lower names the group above whose limit is the rate that was seen, if that is lower than the limit tested; "" if
// there is none.
func (v subject) lower(r row.Row) string {
	for _, g := range v.above {
		l := g.Devices[v.spot.Number]
		if n := *l.Whole(r.Key); n > 0 && float64(n) < r.Asked && r.Seen <= float64(n)*(1+judge.Tolerance) {
			return fmt.Sprintf("; the group %s above it %s", clean.Line(g.Group), has(r.Key, n))
		}
	}
	return ""
}

// reason returns why a limit does not hold in a mode, and what to do about it, "" if unknown.
func (v subject) reason(key limit.Key, mode row.Mode) (why, fix string) {
	asked := v.asked[key]
	set := fmt.Sprintf("plimsoll limit set %s %s %s", v.Again, key.Flag(), flagValue(key, asked))
	have, root := *v.inGroup.Whole(key), *v.inRoot.Whole(key)
	m := v.mode(key, mode)
	if b := v.mode(key, row.Buffered); mode == row.BufferedSync && key.Writes() && m != nil && m.Group == explain.Covered && b != nil && b.Group == explain.Leaks && have > 0 && have <= asked {
		// A sync finds less to write. A file system that needs space for its own notes about many small writes, such as
		// btrfs, has a kernel thread write some of the data before the sync.
		early := *b
		early.Why = "a part was written before the sync: " + b.Why
		m = &early
	}
	if (m == nil || m.Group == explain.Covered || m.Group == explain.Late) && (have == 0 || have > asked) {
		// In any other mode, setting the limit alone would not help.
		return fmt.Sprintf("the kernel %s for %s on %s; verify sets nothing", has(key, have), clean.Line(v.groupSet.Name), v.spot.Name), set + v.Flags
	}
	switch {
	case m == nil || m.Group == explain.Covered:
		return "the kernel has the limit, and no known I/O passes it here", "plimsoll limit explain shows the devices under the path"
	case m.Device == explain.Covered && (root == 0 || root > asked):
		return m.Why + "; the root group " + has(key, root) + " on " + v.spot.Name, DeviceWideAdvice(v.place.Explanation, v.spot.Name, set+" --device-wide"+v.Flags)
	case m.Device == explain.Covered:
		return m.Why + ", which has the limit too; no known I/O passes it there", ""
	}
	if mode == row.Buffered {
		fix = v.place.Explanation.Mend()
	}
	return m.Why, fix
}

// DeviceWideAdvice returns the advice to set a limit in the root group, with a command. Such a limit slows down all that
// write to the device: if there are others, the advice says so first, and prefers a separate device for the data. For
// the device of / it gives no command.
func DeviceWideAdvice(on *explain.Explanation, disk, command string) string {
	others := on.Others()
	if len(others) == 0 {
		return command
	}
	root := slices.Contains(others, "/")
	reach := fmt.Sprintf("%s has other data too: a limit for all writes to it slows down %s as well; ", disk, strings.Join(others, ", "))
	if root {
		reach = wholeMachine(disk, others)
	}
	own := "better give the data a volume with a device of its own, and limit that with --device-wide (docs/how-to/own-device.md shows how)"
	if root {
		return reach + own
	}
	return reach + own + "; or, for all of them: " + command
}

// wholeMachine says how far a limit on the device of / reaches. others are the mount points on it, including /.
func wholeMachine(disk string, others []string) string {
	has := ""
	if rest := slices.DeleteFunc(slices.Clone(others), func(at string) bool { return at == "/" }); len(rest) > 0 {
		has = fmt.Sprintf(" and of %s", strings.Join(rest, ", "))
	}
	return fmt.Sprintf("%s is the device of /%s: a limit for all writes to it slows down the whole machine; ", disk, has)
}

// changed returns a function that reports whether the kernel's limits have changed since the verification began: those
// of the group, with version 2 also those of the groups above it, and for write-back those of the root group.
func (p *Verifier) changed(v subject) func(limit.Key, row.Mode) (int64, bool) {
	n := v.device()
	own := v.groupSet.Groups.Alone()
	return func(k limit.Key, m row.Mode) (int64, bool) {
		states, err := p.Groups.Read(own)
		if err != nil {
			return 0, false // It has gone, and its worker ends.
		}
		if now := states[0].Devices[n]; *now.Whole(k) != *v.inGroup.Whole(k) {
			return *now.Whole(k), true
		}
		if above, err := p.Groups.Above(own, hierarchy.IO); err == nil {
			if now, was := lowest(v.inGroup, above, n)[k], lowest(v.inGroup, v.above, n)[k]; now != was {
				return now, true
			}
		}
		if !k.Writes() || m != row.Buffered && m != row.BufferedSync {
			return 0, false
		}
		now := p.RootLimits()[n]
		return *now.Whole(k), *now.Whole(k) != *v.inRoot.Whole(k)
	}
}

// lowest returns the lowest rates on a device among a group and those above it.
func lowest(group limit.Limits, above []cgroup.State, d device.Number) map[limit.Key]int64 {
	all := []limit.Limits{group}
	for _, s := range above {
		all = append(all, s.Devices[d])
	}
	return tightest(all...)
}

// mode returns what is known about a mode for the files, or nil.
func (v subject) mode(key limit.Key, mode row.Mode) *explain.Mode {
	name := string(mode)
	if !key.Writes() {
		name = explain.Read
	}
	if v.place.Explanation == nil {
		return nil
	}
	modes := v.place.Explanation.Modes
	if i := slices.IndexFunc(modes, func(m explain.Mode) bool { return m.Name == name }); i >= 0 {
		return &modes[i]
	}
	return nil
}

// unset says which of the limits to test the kernel doesn't have, a sentence each.
func unset(list []subject) []string {
	var out []string
	for _, v := range list {
		for _, k := range limit.Keys {
			if !k.Rate() {
				continue
			}
			asked, have := v.asked[k], *v.inGroup.Whole(k)
			if asked > 0 && asked != have && asked != *v.inRoot.Whole(k) {
				out = append(out, fmt.Sprintf("note: %s of %s on %s is measured against %s; the kernel %s, and verify sets nothing", k, clean.Line(v.groupSet.Name), v.spot.Name, flagValue(k, asked), has(k, have)))
			}
		}
	}
	return out
}

// has returns the kernel's value in words.
func has(key limit.Key, n int64) string {
	if n == 0 {
		return "has no " + string(key)
	}
	return fmt.Sprintf("has %s of %s", key, flagValue(key, n))
}

// flagValue formats a value for a flag.
func flagValue(key limit.Key, n int64) string {
	if key.IOPS() {
		return strconv.FormatInt(n, 10)
	}
	return size.Format(n)
}
