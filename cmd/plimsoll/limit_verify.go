package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// limitVerifyFlags are those of limit verify.
type limitVerifyFlags struct {
	limitWhere
	modes []string
	// named is set where the modes were named: each of them is answered for, also by a row that it says nothing of a limit.
	named     bool
	probe     bool
	time      time.Duration
	tolerance float64
}

// limitVerifyCommand measures whether limits hold.
func (a *app) limitVerifyCommand() *cobra.Command {
	f := limitVerifyFlags{time: verify.DefaultTime, tolerance: verify.DefaultTolerance * 100}
	cmd := &cobra.Command{
		Use:   "verify TARGET",
		Short: "Prove by measuring whether limits on I/O hold",
		Long: `Verify does I/O against each limit that the kernel has for a target, in the target's own control
groups and on its own file systems. It prints the limit, what the application saw and what reached the
device. It tries each limit on writes in four modes: direct I/O, O_DSYNC, buffered with a sync at
the end, and buffered, where the kernel's flusher writes back. Limits on reads it tries in two, direct
and buffered, because reads don't sync. One limit in one mode takes about six seconds; the time of all
is printed first.

It tries the limits that are set. With --write-bps and the like it measures against those values
instead. It sets no limit, so a value that the kernel doesn't have is found not to hold.

` + targetHelp + `

With --probe it makes a container of its own with the volume, by the same engine, gives it
the limits, and removes it afterwards. Use this for a volume that no container uses now, or to
leave the container alone.

It works in a scratch folder of the container and removes it afterwards. Meanwhile it uses the
container's own share of the device. Where space is short, it refuses.

A group or a unit has no files of its own: give --path a folder of this machine on the limited
device.

Exit status: 0 held; 1 at least one could not be measured; 2 for wrong usage; 4 at least one is
not held; 5 it can't be held or tried here.`,
		Example: `  plimsoll limit verify web
  plimsoll limit verify web --volume data --modes direct,buffered
  plimsoll limit verify web --write-bps 10MiB --json
  plimsoll limit verify volume:data --probe --write-bps 4MiB
  plimsoll limit verify cgroup:/batch --path /srv/data
  plimsoll limit verify pid:4711 --path /srv/data`,
		Args: exactly(1, "TARGET"),
	}
	read := limitFlags(cmd, limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS)
	f.register(cmd)
	names := make([]string, len(verify.Modes))
	for i, m := range verify.Modes {
		names[i] = string(m)
	}
	cmd.Flags().StringSliceVar(&f.modes, "modes", names, "ways to do I/O")
	cmd.Flags().BoolVar(&f.probe, "probe", false, "try a volume from a container made for it, not from one that uses it")
	cmd.Flags().DurationVar(&f.time, "time", f.time, "how long each is measured, 3s at least")
	cmd.Flags().Float64Var(&f.tolerance, "tolerance", f.tolerance, "how many percent above or below a limit still count as held")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ask, err := read()
		if err != nil {
			return err
		}
		if len(ask.Remove) > 0 {
			return usageError("%s none can't be tried; name a limit, or leave it out to try the present ones", ask.Remove[0].Flag())
		}
		f.named = cmd.Flags().Changed("modes")
		return a.limitVerify(cmd.Context(), args[0], f, ask)
	}
	return cmd
}

// check is what is wrong with the flags.
func (f limitVerifyFlags) check() ([]verify.Mode, error) {
	var modes []verify.Mode
	names := make([]string, len(verify.Modes))
	for i, m := range verify.Modes {
		names[i] = string(m)
	}
	there := strings.Join(names, ", ")
	for _, m := range f.modes {
		if !slices.Contains(verify.Modes, verify.Mode(m)) {
			return nil, usageError("--modes %s: there are %s", m, there)
		}
		modes = append(modes, verify.Mode(m))
	}
	switch {
	case len(modes) == 0:
		return nil, usageError("--modes is empty: there are %s", there)
	case f.time < verify.LeastTime || f.time > time.Hour:
		return nil, usageError("--time %v: from %v, which the limiter's slices need, to an hour", f.time, verify.LeastTime)
	case !(f.tolerance > 0 && f.tolerance <= 100): // Nor what is no number.
		return nil, usageError("--tolerance %v: more than 0, and up to 100 percent; no limiter holds to the byte", f.tolerance)
	}
	return modes, nil
}

// A verification is one container, ground and device to be tried.
type verification struct {
	part   hold.Part
	ground hold.Ground
	spot   explain.Spot
	// asked are the limits to be tried, under those that the kernel has.
	asked, under map[limit.Key]int64
	// volume is set where the ground is a volume's folder on the host, which each of its users has at a place of its own.
	volume bool
	// inGroup and inRoot are what the kernel holds the group and the root group to on the device.
	inGroup, inRoot limit.Limits
	// above are the groups above that hold the group as well.
	above []cgroup.State
	// loose are the target's other groups, as they were found before.
	loose []hold.Loose
	// again is the command line's target and where, for another command; name is the target alone.
	again, name string
	// state is the flag that it needs besides, if any, with a space before.
	state string
}

func (a *app) limitVerify(ctx context.Context, name string, f limitVerifyFlags, ask limit.Ask) error {
	modes, err := f.check()
	if err != nil {
		return err
	}
	l, err := a.newLimiter()
	if err != nil {
		return err
	}
	defer l.Close()
	if !f.named {
		modes = nil
	}
	r := verify.Request{Modes: modes, Time: f.time, Tolerance: f.tolerance / 100}
	if f.probe {
		all, err := a.verifyProbe(ctx, l, name, f, ask, r)
		return a.tellVerified(all, f.json, limitError(err))
	}
	s, only, err := l.verifyScope(ctx, name, f.limitWhere)
	if err != nil {
		return err
	}
	change, err := a.resolved(ask, s)
	if err != nil {
		return err
	}
	list, err := l.verifications(s, change.Set, only)
	if err != nil {
		return limitError(err)
	}
	for _, n := range unset(list) {
		fmt.Fprintln(a.stderr, n)
	}
	var all []verified
	for _, v := range list {
		done := verified{Part: v.part.Name, Ground: v.ground.Name, Device: v.spot.Name, number: v.spot.Number(), members: v.members()}
		v.again, v.name, v.state = again(name, f.limitWhere), clean.Shell(name), a.stateFlag()
		done.Rows, err = a.withLoose(l, v, func(v verification, w *looseWatch) ([]verify.Row, error) {
			r.Look = w.again
			return a.verifyOne(ctx, l, v, r)
		})
		done.ended(err)
		all = append(all, done)
		if !f.json {
			if err := a.tellRows(done); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
	}
	return a.tellVerified(all, f.json, limitError(err))
}

// verifications finds what is to be tried: the limits of the kernel's, or those that were named. only are numbers of
// devices, empty for all.
func (l *limiter) verifications(s *hold.Scope, named limit.Limits, only []device.Number) ([]verification, error) {
	root := l.RootLimits()
	wide := slices.ContainsFunc(s.Parts, func(p hold.Part) bool { return p.DeviceWide })
	var list []verification
	for _, p := range s.Parts {
		if p.Target == nil {
			continue // The root group's are tried with each container's.
		}
		states, err := l.Groups.Read(p.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		above, err := l.Groups.Above(p.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, g := range s.Grounds {
			for _, d := range g.Explanation.Hard {
				if d.ReadsOnly || len(only) > 0 && !slices.Contains(only, d.Number()) {
					continue
				}
				n := d.Number()
				v := verification{part: p, ground: g, spot: d, volume: s.Target.Kind == target.Volume, inGroup: states[0].Devices[n], inRoot: root[n], above: above}
				all := []limit.Limits{v.inGroup, v.inRoot}
				for _, a := range above {
					all = append(all, a.Devices[n])
				}
				v.under = tightest(all...)
				switch {
				case !named.IsZero():
					v.asked = tightest(named)
				case wide:
					v.asked = tightest(v.inGroup, v.inRoot)
				default:
					v.asked = tightest(v.inGroup)
				}
				if len(v.asked) > 0 && !slices.ContainsFunc(list, func(o verification) bool { return o.part.Name == p.Name && o.spot.Number() == d.Number() }) {
					list = append(list, v)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, &hold.ImpossibleError{Untried: true, What: s.Target.Ref(), Why: "it has no limit on I/O that could be tried (bytes or I/Os a second; shares, latency, memory and CPUs aren't)" + withoutUsers(s),
			Instead: "set one with plimsoll limit set, or name one such as --write-bps 10MiB"}
	}
	return list, nil
}

func withoutUsers(s *hold.Scope) string {
	if s.Target.Kind == target.Volume && len(s.Target.Users) == 0 {
		return ", and no running container uses it"
	}
	return ""
}

// nobody is the root group of version 1, where the kernel writes back what others left in the page cache; nil with version 2.
func (l *limiter) nobody() *hierarchy.Group {
	groups, err := l.Groups.Device()
	if err != nil {
		return nil
	}
	g, err := groups.Group(hierarchy.IO)
	if err != nil {
		return nil
	}
	return g
}

// tightest takes what limits ask for where it is the least.
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

// verifyOne starts a worker where the limits are, and tries them.
func (a *app) verifyOne(ctx context.Context, l *limiter, v verification, r verify.Request) (rows []verify.Row, err error) {
	r.Asked, r.Under, r.FS, r.Members = v.asked, v.under, l.FS, v.members()
	if r.Rows() == 0 {
		return verify.Run(ctx, r)
	}
	d, err := l.FS.Disk(v.spot.Number())
	if err != nil {
		return nil, err
	}
	r.Device = *d
	group, err := v.part.Groups.Group(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	r.Group, r.Nobody = group, l.nobody()
	r.Kin, r.Single, r.Changed = v.kin(group), v.single(group), l.changed(v)
	dir, err := v.folder()
	if err != nil {
		return nil, err
	}
	// Version 2 charges memory and I/O to one group; on version 1 its memory need not be taken up.
	inside := engine.Inside{ID: scratchID(), Root: v.root(), Dir: dir, Groups: []string{group.Dir}, Accept: func(f *os.File) error { return l.standsOn(v, f) }}
	err = room(inside, &r)
	if err := errors.Join(err, tooSlow(v.part.Name, r)); err != nil {
		return nil, err
	}
	if v.part.Target.Kind == target.Container {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		inside.PID, inside.Ended = v.part.Target.PID, func() { cancel(fmt.Errorf("%s ended meanwhile", v.part.Name)) }
	}
	r.Used = r.Busy(ctx)
	lasts := r.Lasts()
	announced := "about " + size.Duration(lasts)
	if len(r.Used) > 0 {
		var cancel context.CancelFunc
		most := max(mostLonger*lasts, lasts+time.Minute)
		announced = fmt.Sprintf("from %s to %s: %s uses %s itself", size.Duration(lasts), size.Duration(most), clean.Line(v.part.Name), usedWords(r))
		ctx, cancel = context.WithTimeoutCause(ctx, most, fmt.Errorf("it took all of the announced %s, because %s uses its limit itself: verify when it is quiet, or verify a volume with --probe", size.Duration(most), v.part.Name))
		defer cancel()
	}
	session, err := engine.OpenInside(ctx, a.stateDir, workerbin.Bytes, inside)
	if errors.Is(err, syscall.EROFS) {
		return nil, &hold.ImpossibleError{Untried: true, What: dir, Why: "it is on a read-only file system, and verify writes a scratch file", Instead: "name with --path a folder on the limited device that can be written"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.part.Name, err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(a.hardContext(), time.Minute)
		defer cancel()
		err = errors.Join(err, session.Close(closing))
	}()
	if r.Agent, err = agent.Open(ctx, session); err != nil {
		return nil, fmt.Errorf("%s: %w", v.part.Name, err)
	}
	fmt.Fprintf(a.stderr, "%s of %s, %s\n", trying(r), clean.Line(v.part.Name), announced)
	rows, err = verify.Run(ctx, r)
	v.explain(rows)
	return rows, err
}

// mostLonger is how many times as long as alone a verification may take beside a target that uses its limit itself. Whatever the target has
// submitted before goes before the worker's: a sync of a gigabyte under 10 MiB/s is 100 s.
const mostLonger = 4

// usedWords reports how much of its limits a target uses itself.
func usedWords(r verify.Request) string {
	var words []string
	for _, k := range limit.Keys {
		if used := r.Used[k]; used > 0 {
			row := verify.Row{Key: k}
			words = append(words, fmt.Sprintf("%s of its %s of %s", row.Rate(used), k, row.Rate(float64(r.Asked[k]))))
		}
	}
	return strings.Join(words, " and ")
}

// trying reports how much is tried.
func trying(r verify.Request) string {
	if r.Rows() == 1 {
		return "trying one limit in one mode"
	}
	return fmt.Sprintf("trying %d pairs of a limit and a mode", r.Rows())
}
