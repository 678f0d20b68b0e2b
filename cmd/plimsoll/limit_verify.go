package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/agent"
	"plimsoll/internal/clean"
	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/engine"
	"plimsoll/internal/inroot"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/target"
	"plimsoll/internal/limit/verify"
	"plimsoll/internal/size"
	"plimsoll/internal/workerbin"
)

// limitVerifyFlags are those of limit verify.
type limitVerifyFlags struct {
	limitWhere
	modes     []string
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
		Long: `Verify does I/O against each limit that the kernel has for a target, in its own control groups
and on its own file systems, and says what was asked for, what the application saw and what reached the
device. Each limit is tried in four modes: direct I/O, O_DSYNC, buffered with a sync
at the end, and buffered, where the kernel's flusher writes back.

The limits that are tried are those that are set; --write-bps and the like try
others, as if they had been.

` + targetHelp + `

With --probe it makes a container of its own with the volume, by the same engine, gives it
the limits, and removes it afterwards: for a volume that nobody uses now, or to leave
the container alone.

It works in a scratch folder of the container, which is removed, and takes the
container's own share of the device while it does; where space is short, it refuses.

Exit status: 0 held; 4 at least one is not held; 5 it can't be held or tried here; 1 or 2 for errors.`,
		Example: `  plimsoll limit verify web
  plimsoll limit verify web --volume data --modes direct,buffered
  plimsoll limit verify web --write-bps 10MiB --json`,
		Args: exactly(1, "TARGET"),
	}
	read := limitFlags(cmd)
	f.register(cmd)
	names := make([]string, len(verify.Modes))
	for i, m := range verify.Modes {
		names[i] = string(m)
	}
	cmd.Flags().StringSliceVar(&f.modes, "modes", names, "ways to do I/O")
	cmd.Flags().BoolVar(&f.probe, "probe", false, "try a volume from a container made for it, not from one that uses it")
	cmd.Flags().DurationVar(&f.time, "time", f.time, "how long each is measured, 3s at least")
	cmd.Flags().Float64Var(&f.tolerance, "tolerance", f.tolerance, "how many percent above a limit still count as held")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ask, err := read()
		if err != nil {
			return err
		}
		return a.limitVerify(cmd.Context(), args[0], f, ask)
	}
	return cmd
}

// check is what is wrong with the flags.
func (f limitVerifyFlags) check() ([]verify.Mode, error) {
	var modes []verify.Mode
	for _, m := range f.modes {
		if !slices.Contains(verify.Modes, verify.Mode(m)) {
			return nil, usageError("--modes %s: there are %v", m, verify.Modes)
		}
		modes = append(modes, verify.Mode(m))
	}
	switch {
	case f.Device != "":
		return nil, usageError("--device %s: what is tried is written in a folder; name one that is on it, with --path or --volume", f.Device)
	case len(modes) == 0:
		return nil, usageError("--modes is empty: there are %v", verify.Modes)
	case f.time < verify.LeastTime || f.time > time.Hour:
		return nil, usageError("--time %v: from %v, which the limiter's slices need, to an hour", f.time, verify.LeastTime)
	case !(f.tolerance >= 0 && f.tolerance <= 100): // NaN is neither.
		return nil, usageError("--tolerance %v: from 0 to 100 percent", f.tolerance)
	}
	return modes, nil
}

// A verification is one container, ground and device to be tried.
type verification struct {
	part   hold.Part
	ground hold.Ground
	spot   explain.Spot
	// asked are the limits to be tried, under those that the kernel has.
	asked, under map[verify.Key]int64
	// volume is set where the ground is a volume's folder on the host, which each of its users has at a place of its own.
	volume bool
}

// A verified is what verify prints of one with --json.
type verified struct {
	Part   string       `json:"part"`
	Ground string       `json:"ground"`
	Device string       `json:"device"`
	Rows   []verify.Row `json:"rows"`

	number string
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
	r := verify.Request{Modes: modes, Time: f.time, Tolerance: f.tolerance / 100}
	if f.probe {
		all, err := a.verifyProbe(ctx, l, name, f, ask, r)
		return a.tellVerified(all, f.json, limitError(err))
	}
	s, err := l.scope(ctx, name, f.limitWhere, true)
	if err != nil {
		return err
	}
	change, err := a.resolveLimits(ask, s)
	if err != nil {
		return err
	}
	list, err := l.verifications(s, change.Set)
	if err != nil {
		return limitError(err)
	}
	var all []verified
	for _, v := range list {
		done := verified{Part: v.part.Name, Ground: v.ground.Name, Device: v.spot.Name, number: v.spot.Number()}
		done.Rows, err = a.verifyOne(ctx, l, v, r)
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

// tellRows prints what was found of one.
func (a *app) tellRows(v verified) error {
	fmt.Fprintf(a.stdout, "%s, %s, on %s (%s):\n", clean.Line(v.Part), clean.Line(v.Ground), v.Device, v.number)
	if len(v.Rows) == 0 {
		return nil
	}
	return printRows(a.stdout, v.Rows)
}

// tellVerified ends a verification that broke off with err, or didn't.
func (a *app) tellVerified(all []verified, asJSON bool, err error) error {
	if asJSON && len(all) > 0 {
		if jerr := a.printJSON(all); jerr != nil {
			return jerr
		}
	}
	if err != nil {
		return err
	}
	return verdict(all)
}

// verifications finds what is to be tried: the limits of the kernel's, or those that were named.
func (l *limiter) verifications(s *hold.Scope, named limit.Limits) ([]verification, error) {
	root := l.rootLimits(s)
	var list []verification
	for _, p := range s.Parts {
		if p.Target == nil {
			continue // The root group's are tried with each container's.
		}
		states, err := l.Groups.Read(p.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, g := range s.Grounds {
			for _, d := range g.Explanation.Hard {
				if d.ReadsOnly {
					continue
				}
				n := cgroup.Device{Major: d.Major, Minor: d.Minor}
				v := verification{part: p, ground: g, spot: d, volume: s.Target.Kind == target.Volume}
				v.under = tightest(states[0].Devices[n], root[n])
				if v.asked = v.under; !named.IsZero() {
					v.asked = tightest(named)
				}
				if len(v.asked) > 0 && !slices.ContainsFunc(list, func(o verification) bool { return o.part.Name == p.Name && o.spot.Number() == d.Number() }) {
					list = append(list, v)
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, &hold.ImpossibleError{What: s.Target.Ref(), Why: "it has no limit on I/O that could be tried" + withoutUsers(s),
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

// rootLimits are what the root group is held to, if a part is it.
func (l *limiter) rootLimits(s *hold.Scope) map[cgroup.Device]limit.Limits {
	for _, p := range s.Parts {
		if p.DeviceWide {
			if states, err := l.Groups.Read(p.Groups); err == nil && len(states) > 0 {
				return states[0].Devices
			}
		}
	}
	return nil
}

// tightest takes what limits ask for where it is the least.
func tightest(all ...limit.Limits) map[verify.Key]int64 {
	least := map[verify.Key]int64{}
	for _, l := range all {
		for k, n := range map[verify.Key]int64{verify.ReadBPS: l.ReadBPS, verify.WriteBPS: l.WriteBPS, verify.ReadIOPS: l.ReadIOPS, verify.WriteIOPS: l.WriteIOPS} {
			if have := least[k]; n > 0 && (have == 0 || n < have) {
				least[k] = n
			}
		}
	}
	return least
}

// verifyOne starts a worker where the limits are, and tries them.
func (a *app) verifyOne(ctx context.Context, l *limiter, v verification, r verify.Request) (rows []verify.Row, err error) {
	r.Asked, r.Under, r.FS = v.asked, v.under, l.FS
	d, err := l.FS.Disk(v.spot.Major, v.spot.Minor)
	if err != nil {
		return nil, err
	}
	r.Device = *d
	group, err := v.part.Groups.Group(hierarchy.IO)
	if err != nil {
		return nil, err
	}
	dir, err := v.folder()
	if err != nil {
		return nil, err
	}
	// Version 2 charges memory and I/O to one group; on version 1 its memory need not be taken up.
	inside := engine.Inside{ID: scratchID(), Root: v.root(), Dir: dir, Groups: []string{group.Dir}, Accept: func(f *os.File) error { return l.standsOn(v, f) }}
	if err := errors.Join(tooSlow(v.part.Name, r), room(inside, r.Room())); err != nil {
		return nil, err
	}
	if v.part.Target.Kind == target.Container {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		inside.PID, inside.Ended = v.part.Target.PID, func() { cancel(fmt.Errorf("%s ended meanwhile", v.part.Name)) }
	}
	session, err := engine.OpenInside(ctx, a.stateDir, workerbin.Bytes, inside)
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
	fmt.Fprintf(a.stderr, "trying %d limits and modes of %s, about %s\n", r.Rows(), clean.Line(v.part.Name), size.Duration(r.Lasts()))
	return verify.Run(ctx, r)
}

// scratchID tells this process's scratch folders from others'.
func scratchID() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// room refuses where a scratch file of so many bytes would leave little.
func room(in engine.Inside, need int64) error {
	free, err := inroot.Free(in.Root, in.Dir)
	if err != nil {
		return err
	}
	// Whoever uses the file system goes on writing meanwhile.
	if free < 2*need {
		return &hold.ImpossibleError{What: in.Dir, Why: fmt.Sprintf("the scratch file takes %s, and only %s are free", size.Bytes(need), size.Bytes(free)),
			Instead: "free some, name another --path, or take less --time"}
	}
	return nil
}

// tooSlow refuses limits on writes under which the scratch file alone would take too long.
func tooSlow(what string, r verify.Request) error {
	if t := r.LayOut(); t > verify.MostLayOut {
		return &hold.ImpossibleError{What: what, Why: fmt.Sprintf("under its limit on writes the scratch file of %s takes %s to be written", size.Bytes(r.Room()), size.Duration(t)),
			Instead: "try it with a greater limit on writes"}
	}
	return nil
}

// printRows prints a table of what was found.
func printRows(out io.Writer, rows []verify.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "limit\tmode\tasked\tapplication\tdevice\terror\tfirst second\tsettled after\tverdict")
	for _, r := range rows {
		settled, over := "", ""
		if r.Converged >= 0 && r.Elapsed > 0 && r.Mode != verify.BufferedSync {
			settled = size.Duration(r.Converged)
		}
		if r.Elapsed > 0 && r.Mode != verify.BufferedSync && r.Mode != verify.Buffered {
			over = fmt.Sprintf("+%.0f %%", r.Overshoot*100)
		}
		app, dev, off := "", "", ""
		if r.Elapsed > 0 {
			app, dev, off = r.Rate(r.App), r.Rate(r.Device), fmt.Sprintf("%+.1f %%", r.Off*100)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Key, r.Mode, r.Rate(float64(r.Asked)), app, dev, off, over, settled, clean.Line(r.Words()))
	}
	return w.Flush()
}

// verdict is the exit status that the rows stand for.
func verdict(all []verified) error {
	var not, unknown, held int
	for _, v := range all {
		for _, r := range v.Rows {
			switch r.Verdict {
			case verify.NotHeld:
				not++
			case verify.Held:
				held++
			default:
				unknown++
			}
		}
	}
	switch {
	case not > 0:
		return &exitError{exitNotHeld, fmt.Errorf("%d of %d limits and modes are NOT held", not, not+held+unknown)}
	case held == 0:
		return &exitError{exitCannot, errors.New("nothing was proved: see the lines above")}
	}
	return nil
}
