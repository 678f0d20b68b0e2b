package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
)

// limitVerifyFlags are the flags of limit verify.
type limitVerifyFlags struct {
	limitWhere
	modes []string
	// named is set if the user named the modes. Each of them then gets a row, even if the mode says nothing about a
	// limit.
	named     bool
	probe     bool
	time      time.Duration
	tolerance float64
}

// limitVerifyCommand measures whether limits hold.
func (a *app) limitVerifyCommand() *cobra.Command {
	f := limitVerifyFlags{time: row.DefaultTime, tolerance: row.DefaultTolerance * 100}
	cmd := &cobra.Command{
		Use:   "verify TARGET",
		Short: "Prove by measuring whether limits on I/O hold",
		Long: `Verify does I/O against each limit that the kernel has for a target, in the target's own control
groups and on its own file systems. It prints the limit, what the application saw and what reached the
device. It tries each limit on writes in four modes: direct I/O, O_DSYNC, buffered with a sync at
the end, and buffered, where the kernel's flusher writes back. It tries limits on reads in two, direct
and buffered, because reads don't sync. One limit in one mode takes about six seconds; the time of all
is printed first.

It tries the limits that are set. With --write-bps and the like it measures against those values
instead. It sets no limit, so a value that the kernel doesn't have is reported as not held.

` + targetHelp + `

With --probe it makes a container of its own with the volume, by the same engine, gives it
the limits, and removes it afterwards. Use this for a volume that no container uses now, or to
leave the container alone.

It works in a scratch folder of the container and removes it afterwards. Meanwhile it uses the
container's own share of the device. Where space is short, it refuses.

A group or a unit has no files of its own: give --path a folder of this machine on the limited
device.

Exit status: 0 held; 1 at least one could not be measured; 2 wrong usage; 4 at least one is
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
	cmd.Flags().StringSliceVar(&f.modes, "modes", modeNames(), "ways to do I/O")
	cmd.Flags().BoolVar(&f.probe, "probe", false, "measure from a new container with the volume, not from one that uses it")
	cmd.Flags().DurationVar(&f.time, "time", f.time, "how long each is measured, 3s at least")
	cmd.Flags().Float64Var(&f.tolerance, "tolerance", f.tolerance, "how many percent above or below a limit still count as held")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ask, err := read()
		if err != nil {
			return err
		}
		if len(ask.Remove) > 0 {
			return usageError("%s none names no limit to measure: name a value, or leave the flag out to measure the present limits", ask.Remove[0].Flag())
		}
		f.named = cmd.Flags().Changed("modes")
		return a.limitVerify(cmd.Context(), args[0], f, ask)
	}
	return cmd
}

// modeNames returns the names of all modes.
func modeNames() []string {
	names := make([]string, len(row.Modes))
	for i, m := range row.Modes {
		names[i] = string(m)
	}
	return names
}

// check returns the modes, or what is wrong with the flags.
func (f limitVerifyFlags) check() ([]row.Mode, error) {
	var modes []row.Mode
	there := strings.Join(modeNames(), ", ")
	for _, m := range f.modes {
		if !slices.Contains(row.Modes, row.Mode(m)) {
			return nil, usageError("--modes %s: choose among %s", m, there)
		}
		modes = append(modes, row.Mode(m))
	}
	switch {
	case len(modes) == 0:
		return nil, usageError("--modes is empty: choose among %s", there)
	case f.time < row.LeastTime || f.time > time.Hour:
		return nil, usageError("--time %v: write %v, which a limiter needs to take effect, to an hour", f.time, row.LeastTime)
	case !(f.tolerance > 0 && f.tolerance <= 100): // NaN is refused too.
		return nil, usageError("--tolerance %v: write more than 0 and at most 100 percent; no limiter is exact to the byte", f.tolerance)
	}
	return modes, nil
}

func (a *app) limitVerify(ctx context.Context, name string, f limitVerifyFlags, ask limit.Ask) error {
	modes, err := f.check()
	if err != nil {
		return err
	}
	if !f.named {
		modes = nil
	}
	ref, err := parseTarget(name)
	if err != nil {
		return err
	}
	l, err := a.newHolder()
	if err != nil {
		return err
	}
	defer l.Finder.Close()
	verifier := &verify.Verifier{
		Holder: l, State: a.stateDir, Worker: workerbin.Bytes, Env: a.env, Hard: a.hardContext(), Messages: a.stderr, Try: a.try,
		Words: verify.Words{Target: clean.Shell(name), Again: again(name, f.limitWhere), Flags: a.stateFlag()},
	}
	all, err := verifier.Do(ctx, verify.Command{
		Target: ref, Where: f.Where, Probe: f.probe,
		Named: func(s *hold.Scope) (limit.Limits, error) {
			change, err := a.resolved(ask, s)
			return change.Set, err
		},
		Request: row.Request{Modes: modes, Time: f.time, Tolerance: f.tolerance / 100},
		Show: func(p verify.Result) error {
			if f.json {
				return nil
			}
			return p.Write(a.stdout)
		},
	})
	if f.json && len(all) > 0 {
		if err := a.printJSON(jsonlist.Of(all)); err != nil {
			return err
		}
	}
	return verify.Ended(all, err)
}

// again returns a command line's target and place, for use in another command.
func again(name string, where limitWhere) string {
	words := []string{clean.Shell(name)}
	for _, f := range [][2]string{{"--volume", where.Volume}, {"--path", where.Path}, {"--device", where.Device}} {
		if f[1] != "" {
			words = append(words, f[0], clean.Shell(f[1]))
		}
	}
	return strings.Join(words, " ")
}
