package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/daemon"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/provide/plugin"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
)

// defaultPolicy is the default path of the policy.
const defaultPolicy = "/etc/plimsoll/policy.yaml"

// leastEvery is the minimum interval at which all limits are checked, or all engines are asked: with thousands of
// containers either takes a good part of a second.
const leastEvery = time.Second

// A daemonOptions holds the daemon's flags.
type daemonOptions struct {
	policy, run, blockio     string
	check, dry, status, json bool
	clear                    bool
	volumes                  bool
	socket                   string
	checkEvery, syncEvery    time.Duration
}

// daemonCommand keeps containers within the limits of a policy.
func (a *app) daemonCommand() *cobra.Command {
	var o daemonOptions
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Hold containers to the limits of a policy, as they come and go",
		Long: `Daemon holds the containers of all engines to the limits of a policy: each container from its
start to its end. If another program changes a limit, daemon restores it; it writes only values
that differ. It continues after a restart of itself or of an engine.

The policy is a list of rules, each with the containers that it matches and their limits:

  rules:
    - name: everybody
      match: all
      limits: {write_bps: 100MiB}
    - name: databases
      match: {image: postgres, label: {tier: gold}}
      where: {volume: "pg-*"}
      limits: {write_bps: 50%, read_iops: 5000}

For each kind of limit and each device, the last rule that has a value for it applies. --check shows
which limits the daemon would set now, by which rule, and which it can't. The daemon reads a policy again
when it changes, and on SIGHUP; if the new one has a fault, the old one stays in force. docs/reference/daemon.md
lists all keys.

When the daemon ends, the limits stay, unless --clear-on-stop is given. Each --run folder has one
daemon. Two daemons share only the records of device-wide limits: never let both limit one container.
--status shows what the daemon holds.

Exit status: 0 done; 1 error, or --clear-on-stop left limits; 2 a policy with faults; 5 nothing can be limited here.`,
		Example: `  plimsoll daemon --check
  plimsoll daemon
  plimsoll daemon --status
  plimsoll daemon --status --json
  plimsoll daemon --import-blockio /etc/containers/blockio.yaml > policy.yaml`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.daemon(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.policy, "policy", defaultPolicy, "the policy")
	f.StringVar(&o.run, "run", paths.Daemon(), "folder of the lock, the socket and the state; a reboot should empty it")
	f.BoolVar(&o.check, "check", false, "check the policy, show which limits would be set now, by which rule, and which can't be; write nothing")
	f.BoolVar(&o.dry, "dry-run", false, "the same as --check")
	f.BoolVar(&o.status, "status", false, "show the running daemon's limits")
	f.BoolVar(&o.json, "json", false, "print JSON, with --check or --status")
	f.BoolVar(&o.clear, "clear-on-stop", false, "remove all limits when the daemon ends")
	f.BoolVar(&o.volumes, "volumes", false, "be Docker's volume driver plimsoll as well; without a policy at its default path, be only that")
	f.StringVar(&o.socket, "volumes-socket", plugin.Socket, "where Docker asks for volumes, unless systemd passes a socket")
	f.StringVar(&o.blockio, "import-blockio", "", "print a policy with the classes of a block I/O configuration of containerd or CRI-O")
	notEmpty(cmd, "policy", "run", "import-blockio", "volumes-socket")
	f.DurationVar(&o.checkEvery, "check-every", keeper.DefaultCheck, "how often to check all limits, 1s at least; a change of one is noticed at once")
	f.DurationVar(&o.syncEvery, "sync-every", keeper.DefaultSync, "how often to ask all engines for their containers, 1s at least; their events are noticed at once")
	return cmd
}

// daemon does what the flags ask for.
func (a *app) daemon(ctx context.Context, o daemonOptions) error {
	o.check = o.check || o.dry
	switch {
	case o.check && o.status, o.blockio != "" && (o.check || o.status):
		return usageError("--check, --status and --import-blockio exclude each other: choose one")
	case o.blockio != "":
		return a.importBlockIO(o.blockio)
	case o.status:
		return a.daemonStatus(o)
	case o.check:
		return a.daemonCheck(ctx, o)
	case o.json:
		return usageError("--json is for --check and --status: the daemon itself prints only its log")
	case o.checkEvery < leastEvery || o.syncEvery < leastEvery:
		return usageError("--check-every and --sync-every must be at least %v: the daemon reacts to changes and events at once anyway", leastEvery)
	}
	if !o.volumes {
		return a.keep(ctx, o)
	}
	return a.keepAndServe(ctx, o)
}

// keepAndServe runs the keeper and serves volumes until ctx is done, or one of them fails.
func (a *app) keepAndServe(ctx context.Context, o daemonOptions) error {
	s, err := a.volumes()
	if err != nil {
		return err
	}
	if a.quiet != nil {
		a.quiet.Store(true)
	}
	log := func(line string) { fmt.Fprintln(a.stderr, clean.Line(line)) }
	if _, err := os.Stat(o.policy); o.policy == defaultPolicy && errors.Is(err, fs.ErrNotExist) {
		return daemon.ServeVolumes(ctx, s, o.socket, log)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- daemon.ServeVolumes(ctx, s, o.socket, log)
	}()
	err = a.keep(ctx, o)
	cancel()
	return errors.Join(err, <-served)
}

// keep runs the keeper until ctx is done.
func (a *app) keep(ctx context.Context, o daemonOptions) (err error) {
	if err := paths.Old(o.run); err != nil {
		return err
	}
	l, err := a.newHolder()
	if err != nil {
		return err
	}
	defer l.Finder.Close()
	k, err := daemon.New(a.keeperOptions(o, l))
	if err != nil {
		return keeper.PolicyError(err)
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	if a.quiet != nil {
		a.quiet.Store(true) // An interrupt is the normal way to end it.
	}
	if a.hangup != nil {
		reload := k.Reload
		a.hangup.Store(&reload)
		defer a.hangup.Store(nil)
	}
	return k.Run(ctx)
}

// daemonStatus shows what the running daemon holds.
func (a *app) daemonStatus(o daemonOptions) error {
	s, err := daemon.Ask(o.run)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(jsonlist.Of(s))
	}
	_, err = io.WriteString(a.stdout, s.Text(time.Now(), terminal(a.stdout).Width))
	return err
}

// daemonCheck shows what a policy would set for the containers that run now.
func (a *app) daemonCheck(ctx context.Context, o daemonOptions) error {
	p, _, err := keeper.Load(o.policy)
	if err != nil {
		return keeper.PolicyError(err)
	}
	l, err := a.newHolder()
	if err != nil {
		return err
	}
	defer l.Finder.Close()
	running, err := l.Finder.List(ctx)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		// The other containers are shown.
		fmt.Fprintf(a.stderr, "some containers may be missing: %s\n", clean.Text(err.Error()))
	}
	return a.print(keeper.Look(a.keeperOptions(o, l), p, running), o.json)
}

// keeperOptions are the options of a keeper.
func (a *app) keeperOptions(o daemonOptions, l *hold.Holder) keeper.Options {
	return keeper.Options{
		Holder: l, Policy: o.policy, Run: o.run, Check: o.checkEvery, Sync: o.syncEvery, ClearOnStop: o.clear,
		Ceilings: a.ceilings, DeviceLimits: l.DeviceLimits(a.machine()),
		Log: func(line string) { fmt.Fprintln(a.stderr, clean.Line(line)) },
	}
}

// importBlockIO converts a block I/O configuration to a policy, and prints it.
func (a *app) importBlockIO(path string) error {
	text, err := policy.ReadBlockIO(path)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}
