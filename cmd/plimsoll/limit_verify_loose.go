package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/clean"
	"plimsoll/internal/device/cgroupio"
	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/verify"
	"plimsoll/internal/size"
)

// A looseLook is the state, at one time, of the target's groups other than the limited one.
type looseLook struct {
	at     time.Time
	groups []hold.Loose
	// did is what each group did on the device so far, by its path.
	did map[string]cgroupio.Counters
}

// backIntoGroup is what helps where processes of a target are in a group outside of its own, which its limits don't reach.
const backIntoGroup = "move the processes back into the target's group, or limit the group that they are in"

// lookLoose looks at the groups of a verification.
func (l *limiter) lookLoose(v verification) (looseLook, error) {
	groups, err := l.Loose(v.part)
	look := looseLook{at: time.Now(), groups: groups, did: map[string]cgroupio.Counters{}}
	for _, g := range groups {
		if g.Group.Version == 2 && g.Group.IsRoot() {
			continue // Its counters are those of the whole machine.
		}
		if all, err := cgroupio.GroupCounters(g.Group, os.ReadFile); err == nil {
			look.did[g.Group.Path] = all[v.spot.Number()]
		}
	}
	return look, err
}

// looseRows are the rows of groups without a limit, found before or after the measurement.
func (v verification) looseRows(before, after looseLook) (rows []verify.Row) {
	n := cgroup.Device{Major: v.spot.Major, Minor: v.spot.Minor}
	elapsed := after.at.Sub(before.at)
	found := slices.Clone(after.groups)
	for _, g := range before.groups {
		if !slices.ContainsFunc(after.groups, func(a hold.Loose) bool { return a.Group.Path == g.Group.Path }) {
			found = append(found, g)
		}
	}
	for _, key := range limit.Keys {
		asked := v.asked[key]
		for _, g := range found {
			if asked <= 0 || !g.Lacks(n, key, asked) {
				continue
			}
			has := g.Devices[n]
			group := verify.Group{Path: clean.Line(g.Group.Path), Processes: g.Processes, Has: *has.Whole(key), Rate: -1, Elapsed: elapsed}
			// A group that was not looked at before may have done all that it did long ago.
			was, known := before.did[g.Group.Path]
			if now, ok := after.did[g.Group.Path]; ok && known {
				done := map[limit.Key]int64{limit.ReadBPS: now.ReadBytes - was.ReadBytes, limit.WriteBPS: now.WriteBytes - was.WriteBytes, limit.ReadIOPS: now.Reads - was.Reads, limit.WriteIOPS: now.Writes - was.Writes}
				group.Rate = float64(done[key]) / elapsed.Seconds()
			}
			r := group.Row(key, asked)
			r.Fix = fmt.Sprintf("plimsoll limit set %s %s %s%s", v.again, key.Flag(), flagValue(key, asked), v.state) + " sets it in the groups there are now; plimsoll daemon with a policy holds those that come later"
			if g.Outside {
				r.Fix = backIntoGroup
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// manyNote says of version 1 that several groups of a target have a limit, each for itself; "" if that is not so.
func (v verification) manyNote(look looseLook) string {
	n := cgroup.Device{Major: v.spot.Major, Minor: v.spot.Minor}
	with := 1
	for _, g := range look.groups {
		for key, asked := range v.asked {
			if !g.Lacks(n, key, asked) {
				with++
				break
			}
		}
	}
	if with == 1 {
		return ""
	}
	return fmt.Sprintf("note: %s of %s have the limit, each for itself (control groups of version 1): together they may do %d times as much", size.Plural(with, "group"), clean.Line(v.part.Name), with)
}

// kin returns the target's other groups on version 1, where own, its own, doesn't hold them.
func (v verification) kin(own *hierarchy.Group) (kin []*hierarchy.Group) {
	if own.Version != 1 {
		return nil
	}
	for _, g := range v.loose {
		kin = append(kin, g.Group)
	}
	return kin
}

// single reports whether the target's processes are in one group only. The worker must not be in it yet.
func (v verification) single(own *hierarchy.Group) bool {
	if len(v.loose) == 0 {
		return true
	}
	b, err := os.ReadFile(filepath.Join(own.Dir, "cgroup.procs"))
	return err == nil && len(b) == 0 && len(v.loose) == 1
}

// together is why a target does more than a limit in its groups together, and what would mend it.
func (v verification) together(key limit.Key) (why, fix string) {
	n := cgroup.Device{Major: v.spot.Major, Minor: v.spot.Minor}
	var names []string
	for _, g := range v.loose {
		words := "no " + string(key)
		if has := g.Devices[n]; has.Has(key) {
			words = verify.Row{Key: key}.Rate(float64(*has.Whole(key)))
		}
		names = append(names, fmt.Sprintf("%s with %s", clean.Line(g.Group.Path), words))
	}
	why = fmt.Sprintf("control groups of version 1 hold each group for itself, and processes of %s are also in %s", clean.Line(v.part.Name), strings.Join(names, ", "))
	if slices.ContainsFunc(v.loose, func(g hold.Loose) bool { return g.Outside }) {
		return why, backIntoGroup
	}
	parts := int64(len(v.loose) + 1)
	fix = fmt.Sprintf("plimsoll limit set %s %s %s%s gives each of the %d groups there are now a part; one limit for all of them takes control groups of version 2",
		v.again, key.Flag(), flagValue(key, max(v.asked[key]/parts, 2)), v.state, parts)
	return why, fix
}

// withLoose tries the limits with try, and looks at the target's other groups before and after.
func (a *app) withLoose(l *limiter, v verification, try func(verification) ([]verify.Row, error)) ([]verify.Row, error) {
	before, err := l.lookLoose(v)
	if err != nil {
		return nil, err
	}
	v.loose = before.groups
	rows, err := try(v)
	if err != nil {
		return rows, err
	}
	after, err := l.lookLoose(v)
	if err != nil {
		return rows, err
	}
	if n := v.manyNote(after); n != "" {
		fmt.Fprintln(a.stderr, n)
	}
	return append(rows, v.looseRows(before, after)...), nil
}

// looseNotes say of the parts of a scope which groups lack limits that the part's own group has.
func (l *limiter) looseNotes(shown []limitShown) (notes []string) {
	for _, p := range shown {
		if len(p.Groups) == 0 {
			continue
		}
		groups, err := l.Loose(p.Part)
		if err != nil {
			continue // It has gone: the lines of its limits say so.
		}
		for _, g := range groups {
			for d, own := range p.Groups[0].Devices {
				for _, k := range limit.Keys {
					if !k.Rate() || !own.Has(k) || !g.Lacks(d, k, *own.Whole(k)) {
						continue
					}
					has := g.Devices[d]
					r := verify.Group{Path: g.Group.Path, Processes: g.Processes, Has: *has.Whole(k), Rate: -1}.Row(k, *own.Whole(k))
					mend := "set it again, or have plimsoll daemon hold it with a policy"
					if g.Outside {
						mend = backIntoGroup
					}
					notes = append(notes, fmt.Sprintf("%s on %s is NOT held: %s; %s", k, l.deviceName(d), r.Why, mend))
				}
			}
		}
	}
	return notes
}
