package verify

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// A groupWatch follows the target's groups other than the limited one, from before the rows until after them. Processes
// may move between groups, start or end, so it also checks while rows are measured.
type groupWatch struct {
	p *Verifier
	v subject
	// last is the result of the latest check.
	last  []hold.Stray
	seen  []*groupSeen
	began time.Time
	// next is when the next check is due. Checks take at most one part in lookShare of a CPU.
	next time.Time
}

// A groupSeen is a group that a check found.
type groupSeen struct {
	// Stray is the group as found by the check in which it lacked most limits, or had most processes.
	hold.Stray
	// since and until are when its counters were read first and last; before and after are their values. known says
	// that they could be read.
	since, until  time.Time
	before, after cgroupio.Counters
	known         bool
	// from is when the group was first seen, if every check since has seen it. sure says that this is long enough: its
	// processes are not on their way into the target's group.
	from time.Time
	sure bool
}

// lookShare bounds the cost of the checks.
const lookShare = 20

// watchGroups starts to follow the groups of a verification.
func (p *Verifier) watchGroups(v subject) (*groupWatch, error) {
	w := &groupWatch{p: p, v: v, began: time.Now()}
	return w, w.settle()
}

// settle checks, and checks once more if it isn't sure of a group.
func (w *groupWatch) settle() error {
	err := w.look()
	if err != nil || !w.unsure() {
		return err
	}
	time.Sleep(hold.Entering)
	return w.look()
}

// unsure reports whether the latest check found a group whose processes may be on their way into the target's.
func (w *groupWatch) unsure() bool {
	return slices.ContainsFunc(w.seen, func(s *groupSeen) bool { return !s.sure && !s.from.IsZero() })
}

// again checks once more if it is time to. A failed check is repeated after the rows.
func (w *groupWatch) again() {
	if time.Now().After(w.next) {
		_ = w.look()
	}
}

// look finds the groups of the target's processes.
func (w *groupWatch) look() error {
	began := time.Now()
	defer func() {
		w.next = time.Now().Add(lookShare * time.Since(began))
		if w.unsure() {
			w.next = began.Add(hold.Entering) // On a busy machine the processes may have moved back by the usual time.
		}
	}()
	groups, err := w.p.StraysNow(w.v.groupSet, procfs.Look("/proc"))
	if err != nil {
		return err
	}
	w.last = groups
	for _, g := range groups {
		i := slices.IndexFunc(w.seen, func(s *groupSeen) bool { return s.Group.Path == g.Group.Path })
		if i < 0 {
			i, w.seen = len(w.seen), append(w.seen, &groupSeen{Stray: g})
		}
		s := w.seen[i]
		if w.lacking(g) > w.lacking(s.Stray) || w.lacking(g) == w.lacking(s.Stray) && g.Processes > s.Processes {
			s.Stray = g
		}
		if s.from.IsZero() {
			s.from = began
		}
		s.sure = s.sure || !s.Outside || began.Sub(s.from) >= hold.Entering
	}
	for _, s := range w.seen {
		if !slices.ContainsFunc(groups, func(g hold.Stray) bool { return g.Group.Path == s.Group.Path }) {
			s.from = time.Time{}
		}
		if s.Group.Dir == "" || s.Group.Version == 2 && s.Group.IsRoot() {
			continue // It isn't visible from here, or its counters are those of the whole machine.
		}
		all, err := cgroupio.GroupCounters(s.Group, os.ReadFile)
		if err != nil {
			continue
		}
		// I/O of a group before it was first seen may have been long ago.
		s.until, s.after = time.Now(), all[w.v.spot.Number]
		if !s.known {
			s.since, s.before, s.known = s.until, s.after, true
		}
	}
	return nil
}

// lacking returns how many of the limits a group lacks.
func (w *groupWatch) lacking(g hold.Stray) (n int) {
	for key, asked := range w.v.asked {
		if g.Lacks(w.v.device(), key, asked) {
			n++
		}
	}
	return n
}

// device returns the number of the verification's device.
func (v subject) device() device.Number {
	return v.spot.Number
}

// mostRows is the maximum number of groups that have a row for a limit: a target may create groups without end.
const mostRows = 8

// rows returns the rows of groups that lack a limit.
func (w *groupWatch) rows() (all []row.Row) {
	v := w.v
	for _, key := range limit.Keys {
		var rows []row.Row
		asked := v.asked[key]
		for _, g := range w.seen {
			if asked <= 0 || !g.sure || !g.Lacks(v.device(), key, asked) {
				continue
			}
			group := row.Group{Text: g.Text(v.device(), key), Rate: -1, Elapsed: time.Since(w.began)}
			if elapsed := g.until.Sub(g.since); g.known && elapsed > 0 {
				now, was := g.after, g.before
				done := map[limit.Key]int64{limit.ReadBPS: now.ReadBytes - was.ReadBytes, limit.WriteBPS: now.WriteBytes - was.WriteBytes, limit.ReadIOPS: now.Reads - was.Reads, limit.WriteIOPS: now.Writes - was.Writes}
				group.Rate, group.Elapsed = float64(done[key])/elapsed.Seconds(), elapsed
			}
			r := group.Row(key, asked)
			r.Fix = g.Mend(fmt.Sprintf("plimsoll limit set %s %s %s%s", v.Again, key.Flag(), flagValue(key, asked), v.Flags) + " sets it in the groups there are now; plimsoll daemon with a policy holds those that come later")
			rows = append(rows, r)
		}
		slices.SortStableFunc(rows, func(a, b row.Row) int { return cmp.Compare(b.Seen, a.Seen) })
		if more := len(rows) - mostRows; more > 0 {
			rows = rows[:mostRows]
			rows[mostRows-1].Why += fmt.Sprintf("; %s more lack the limit, too", size.Plural(more, "group"))
		}
		all = append(all, rows...)
	}
	return all
}

// severalNote says, for version 1, that several groups of a target have a limit, each for itself; "" if that is not so.
func (v subject) severalNote(groups []hold.Stray) string {
	with := 1
	for _, g := range groups {
		for key, asked := range v.asked {
			if !g.Lacks(v.device(), key, asked) {
				with++
				break
			}
		}
	}
	if with == 1 {
		return ""
	}
	return fmt.Sprintf("note: %s of %s have the limit, each for itself (control groups of version 1): together they may do %d times as much", size.Plural(with, "group"), clean.Line(v.groupSet.Name), with)
}

// separate returns the target's other groups with version 1, which the limits of own don't cover.
func (v subject) separate(own *hierarchy.Group) (groups []*hierarchy.Group) {
	if own.Version != 1 {
		return nil
	}
	for _, g := range v.otherGroups {
		groups = append(groups, g.Group)
	}
	return groups
}

// oneGroup reports whether all processes of the target are in one group. The worker must not be in it yet.
func (v subject) oneGroup(own *hierarchy.Group) bool {
	if len(v.otherGroups) == 0 {
		return true
	}
	b, err := os.ReadFile(filepath.Join(own.Dir, "cgroup.procs"))
	return err == nil && len(b) == 0 && len(v.otherGroups) == 1
}

// together says why a target's groups together do more than a limit, and what to do about it.
func (v subject) together(key limit.Key) (why, fix string) {
	var names []string
	for _, g := range v.otherGroups {
		words := "no " + string(key)
		if has := g.Devices[v.device()]; has.Has(key) {
			words = key.PerSecond(float64(*has.Whole(key)))
		}
		names = append(names, fmt.Sprintf("%s with %s", clean.Line(g.Group.Path), words))
	}
	why = fmt.Sprintf("control groups of version 1 hold each group for itself, and processes of %s are also in %s", clean.Line(v.groupSet.Name), strings.Join(names, ", "))
	if i := slices.IndexFunc(v.otherGroups, func(g hold.Stray) bool { return g.Outside }); i >= 0 {
		return why, v.otherGroups[i].Mend("")
	}
	parts := int64(len(v.otherGroups) + 1)
	fix = fmt.Sprintf("plimsoll limit set %s %s %s%s gives each of the %d groups there are now a part; one limit for all of them takes control groups of version 2",
		v.Again, key.Flag(), flagValue(key, max(v.asked[key]/parts, 2)), v.Flags, parts)
	return why, fix
}

// withOtherGroups tests the limits with try, and follows the target's other groups in the meantime.
func (p *Verifier) withOtherGroups(v subject, try func(subject, *groupWatch) ([]row.Row, error)) ([]row.Row, error) {
	w, err := p.watchGroups(v)
	if err != nil {
		return nil, err
	}
	v.otherGroups = w.last
	rows, err := try(v, w)
	if err != nil {
		return rows, err
	}
	if err := w.settle(); err != nil {
		return rows, err
	}
	if n := v.severalNote(w.last); n != "" {
		fmt.Fprintln(p.Messages, n)
	}
	return append(rows, w.rows()...), nil
}
