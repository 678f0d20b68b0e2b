// Package verify proves by measurement whether the limits of a container, a group or a volume hold. It finds what to
// test and starts a worker there. Package row measures each limit in each mode. Verify then says why a limit that isn't
// held is escaped, and what to do about it.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// A Verifier verifies limits of this machine's targets.
type Verifier struct {
	*hold.Holder
	// State is the state folder, and Worker the worker's program.
	State  string
	Worker engine.WorkerSource
	// Env looks up the environment variables that say where daemons are. nil: os.Getenv.
	Env func(string) string
	// Hard is cancelled when cleaning up must be quick.
	Hard context.Context
	// Messages receives messages about what is tested, and how long that takes.
	Messages io.Writer
	// Try measures the rows of a request; nil: row.Run. With another one, a test sees what would be measured.
	Try func(context.Context, row.Request) ([]row.Row, error)
	Words
}

// Words are parts of the command line, for commands in advice.
type Words struct {
	// Target is the target, and Again the target with the flags that say where.
	Target, Again string
	// Flags are other flags that a command needs, each preceded by a space.
	Flags string
}

// A subject is one container, place and device to test.
type subject struct {
	groupSet hold.GroupSet
	place    hold.Place
	spot     explain.Spot
	// asked are the limits to test; under are the kernel's.
	asked, under map[limit.Key]int64
	// volume is set if the place is a volume's folder on the host, which each of its users mounts at its own path.
	volume bool
	// inGroup and inRoot are the kernel's limits of the group and of the root group on the device.
	inGroup, inRoot limit.Limits
	// above are the groups above whose limits bind the group as well.
	above []cgroup.State
	// otherGroups are the target's other groups, as found beforehand.
	otherGroups []hold.Stray
	Words
}

// verify tests the limits of a subject, and follows the target's other groups in the meantime. With an error, the result
// has the rows so far.
func (p *Verifier) verify(ctx context.Context, v subject, r row.Request) (Result, error) {
	done := Result{GroupSet: v.groupSet.Name, Place: v.place.Name, Device: v.spot.Name, number: v.spot.Number, members: v.members()}
	var err error
	done.Rows, err = p.withOtherGroups(v, func(v subject, w *groupWatch) ([]row.Row, error) {
		r.Look = w.again
		return p.measure(ctx, v, r)
	})
	done.ended(err)
	return done, err
}

// find returns what to test: the kernel's limits, or those that were named. only are numbers of devices, empty for all.
func (p *Verifier) find(s *hold.Scope, named limit.Limits, only []device.Number) ([]subject, error) {
	root := p.RootLimits()
	deviceWide := slices.ContainsFunc(s.GroupSets, func(p hold.GroupSet) bool { return p.DeviceWide })
	var list []subject
	for _, set := range s.GroupSets {
		if set.Target == nil {
			continue // The root group's limits are tested with each container's.
		}
		states, err := p.Groups.Read(set.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
		above, err := p.Groups.Above(set.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
		for _, g := range s.Places {
			for _, d := range g.Explanation.Hard {
				if d.ReadsOnly || len(only) > 0 && !slices.Contains(only, d.Number) {
					continue
				}
				n := d.Number
				v := subject{Words: p.Words, groupSet: set, place: g, spot: d, volume: s.Target.Kind == target.Volume, inGroup: states[0].Devices[n], inRoot: root[n], above: above}
				all := []limit.Limits{v.inGroup, v.inRoot}
				for _, a := range above {
					all = append(all, a.Devices[n])
				}
				v.under = tightest(all...)
				switch {
				case !named.IsZero():
					v.asked = tightest(named)
				case deviceWide:
					v.asked = tightest(v.inGroup, v.inRoot)
				default:
					v.asked = tightest(v.inGroup)
				}
				if len(v.asked) > 0 && !slices.ContainsFunc(list, func(o subject) bool { return o.groupSet.Name == set.Name && o.spot.Number == d.Number }) {
					list = append(list, v)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, &refusal.Error{Act: refusal.Tried, What: s.Target.Ref(), Why: "it has no limit on I/O that could be tried (bytes or I/Os a second; shares, latency, memory and CPUs aren't)" + withoutUsers(s),
			Fix: "set one with plimsoll limit set, or name one such as --write-bps 10MiB"}
	}
	return list, nil
}

func withoutUsers(s *hold.Scope) string {
	if s.Target.Kind == target.Volume && len(s.Target.Users) == 0 {
		return ", and no running container uses it"
	}
	return ""
}

// rootGroup returns version 1's root group, in which the kernel writes back the page cache; nil with version 2.
func (p *Verifier) rootGroup() *hierarchy.Group {
	groups, err := p.Groups.Device()
	if err != nil {
		return nil
	}
	g, err := groups.Group(hierarchy.IO)
	if err != nil {
		return nil
	}
	return g
}

// members returns the number of devices that the data is on, each of which has the limit.
func (v subject) members() int {
	n := 0
	for _, d := range v.place.Explanation.Hard {
		if !d.ReadsOnly {
			n++
		}
	}
	return n
}

// tightest returns the lowest value of each limit.
func tightest(all ...limit.Limits) map[limit.Key]int64 {
	least := map[limit.Key]int64{}
	for _, l := range all {
		for _, k := range limit.Keys {
			if have := least[k]; k.Rate() && l.Has(k) && (have == 0 || *l.Whole(k) < have) {
				least[k] = *l.Whole(k)
			}
		}
	}
	return least
}

// measure starts a worker where the limits apply, and tests them.
func (p *Verifier) measure(ctx context.Context, v subject, r row.Request) (_ []row.Row, err error) {
	if r.Asked, r.Members = v.asked, v.members(); r.Rows() == 0 {
		return p.try(ctx, r)
	}
	if err := p.fill(&r, v, v.groupSet.Groups); err != nil {
		return nil, err
	}
	r.OtherGroups, r.OneGroup, r.Changed = v.separate(r.Group), v.oneGroup(r.Group), p.changed(v)
	dir, err := v.folder()
	if err != nil {
		return nil, err
	}
	// Version 2 charges memory and I/O to the same group. With version 1 the worker need not use the memory group.
	inside := engine.Inside{ID: scratchID(), Root: v.root(), Dir: dir, Groups: []string{r.Group.Dir}, Accept: func(f *os.File) error { return p.standsOn(v, f) }}
	if err := fits(v.groupSet.Name, inside, &r); err != nil {
		return nil, err
	}
	if v.groupSet.Target.Kind == target.Container {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		inside.PID, inside.Ended = v.groupSet.Target.PID, func() { cancel(fmt.Errorf("%s ended meanwhile", v.groupSet.Name)) }
	}
	r.Used = r.Busy(ctx)
	ctx, announced, cancel := announce(ctx, v.groupSet.Name, r)
	defer cancel()
	session, err := engine.OpenInside(ctx, p.State, p.Worker, inside)
	if errors.Is(err, syscall.EROFS) {
		return nil, &refusal.Error{Act: refusal.Tried, What: dir, Why: "it is on a read-only file system, and verify writes a scratch file", Fix: "name with --path a folder on the limited device that can be written"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.groupSet.Name, err)
	}
	defer p.close(session, &err)
	if r.Agent, err = agent.Open(ctx, session); err != nil {
		return nil, fmt.Errorf("%s: %w", v.groupSet.Name, err)
	}
	return p.run(ctx, v, r, fmt.Sprintf("of %s, %s", clean.Line(v.groupSet.Name), announced))
}

// fill fills in the device and the groups to test.
func (p *Verifier) fill(r *row.Request, v subject, groups *cgroup.Target) error {
	d, err := p.FS.Disk(v.spot.Number)
	if err != nil {
		return err
	}
	r.Asked, r.Under, r.FS, r.Device, r.Members, r.RootGroup = v.asked, v.under, p.FS, *d, v.members(), p.rootGroup()
	r.Group, err = groups.Group(hierarchy.IO)
	return err
}

// close ends a session, with up to a minute for it, and adds errors to err.
func (p *Verifier) close(session engine.Session, err *error) {
	ctx, cancel := context.WithTimeout(p.Hard, time.Minute)
	defer cancel()
	*err = errors.Join(*err, session.Close(ctx))
}

// run announces the test, measures the rows and explains them.
func (p *Verifier) run(ctx context.Context, v subject, r row.Request, where string) ([]row.Row, error) {
	what := "one limit in one mode"
	if n := r.Rows(); n > 1 {
		what = fmt.Sprintf("%d pairs of a limit and a mode", n)
	}
	fmt.Fprintf(p.Messages, "trying %s %s\n", what, where)
	rows, err := p.try(ctx, r)
	v.explain(rows)
	return rows, err
}

// try measures the rows of a request.
func (p *Verifier) try(ctx context.Context, r row.Request) ([]row.Row, error) {
	if p.Try != nil {
		return p.Try(ctx, r)
	}
	return row.Run(ctx, r)
}

// mostLonger is how many times longer a verification may take if the target uses its limit itself. Whatever the target
// has submitted goes before the worker's I/O: a sync of a gigabyte under 10 MiB/s is 100 s.
const mostLonger = 4

// announce says how long a request will take. If the target uses its limit itself, the time is unknown, and the context
// gets a deadline.
func announce(ctx context.Context, name string, r row.Request) (context.Context, string, context.CancelFunc) {
	lasts := r.Lasts()
	if len(r.Used) == 0 {
		return ctx, "about " + size.Duration(lasts), func() {}
	}
	most := max(mostLonger*lasts, lasts+time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it took all of the announced %s, because %s uses its limit itself: verify when it is quiet, or verify a volume with --probe", size.Duration(most), name))
	return ctx, fmt.Sprintf("from %s to %s: %s uses %s itself", size.Duration(lasts), size.Duration(most), clean.Line(name), usedWords(r)), cancel
}

// usedWords says how much of its limits a target uses itself.
func usedWords(r row.Request) string {
	var words []string
	for _, k := range limit.Keys {
		if used := r.Used[k]; used > 0 {
			words = append(words, fmt.Sprintf("%s of its %s of %s", k.PerSecond(used), k, k.PerSecond(float64(r.Asked[k]))))
		}
	}
	return strings.Join(words, " and ")
}
