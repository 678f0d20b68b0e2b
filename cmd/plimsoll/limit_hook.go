package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/limit/hook"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
)

// A hookOptions holds the hook's flags.
type hookOptions struct {
	policy, run, runtime string
	bestEffort           bool
}

// limitHookCommand applies the policy's limits to a container before its program begins.
func (a *app) limitHookCommand() *cobra.Command {
	var o hookOptions
	cmd := &cobra.Command{
		Use:   "hook [flags] [-- RUNTIME'S ARGUMENTS]",
		Short: "Hold a container to the policy before its program begins, as a hook of its OCI runtime",
		Long: `An OCI runtime (runc, crun) calls hook at the stage createRuntime or prestart, with the container's
state on standard input: its control group exists, and its program has not begun. Hook applies the
policy to the container, so that the container never runs without its limits.

Podman and CRI-O call it if a file in their folder of hooks says so, /etc/containers/oci/hooks.d/plimsoll.json:

  {"version": "1.0.0", "when": {"always": true}, "stages": ["createRuntime"],
   "hook": {"path": "/usr/local/bin/plimsoll", "args": ["plimsoll", "limit", "hook"], "timeout": 30}}

For Docker and containerd, --runtime makes it the runtime: it puts the hook into the container's bundle and
then runs the named runtime in its own place. In /etc/docker/daemon.json:

  {"default-runtime": "held", "runtimes": {"held": {"path": "/usr/local/bin/plimsoll",
   "runtimeArgs": ["limit", "hook", "--runtime", "runc", "--"]}}}

If a limit can't be set, the container does not start and the error has the reason, unless
--best-effort is given. The reason is also in hook.log of the folder --run, as crun doesn't show it. Without a policy nothing
is limited. Rules for labels that the runtime doesn't know (those of Podman's containers) and rules for the
whole device are left to "plimsoll daemon".

Exit status: 0 done; 1 an error, such as a record that can't be written; 2 a policy with faults;
5 a limit of the policy can't be set.`,
		Example: `  plimsoll limit hook --policy /etc/plimsoll/policy.yaml < state.json
  plimsoll limit hook --runtime runc -- --version`,
		Args: cobra.ArbitraryArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.policy, "policy", defaultPolicy, "the policy")
	f.StringVar(&o.run, "run", paths.Daemon(), "folder of the daemon, with its records of containers' limits")
	f.StringVar(&o.runtime, "runtime", "", "act as a runtime: put the hook into the bundle, and run this program with the arguments")
	notEmpty(cmd, "policy", "run", "runtime")
	f.BoolVar(&o.bestEffort, "best-effort", false, "let the container start without the limits that can't be set")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case o.runtime != "":
			return a.wrapRuntime(o, args)
		case len(args) > 0:
			return usageError("arguments need --runtime: without it, standard input has the container's state")
		}
		return a.hookFailed(o, a.hook(o))
	}
	return cmd
}

// hook applies the policy to the container whose state is on standard input.
func (a *app) hook(o hookOptions) error {
	l, err := a.newHolder()
	if err != nil {
		return err
	}
	defer l.Finder.Close()
	return hook.Apply(keeper.Options{Holder: l, Policy: o.policy, Run: o.run, Ceilings: a.ceilings, Unnoted: o.bestEffort}, a.stdin, a.stderr)
}

// hookFailed reports err, why a container has no limits, where users will see it. It returns nil if the container may
// start nevertheless.
func (a *app) hookFailed(o hookOptions, err error) error {
	if err == nil {
		return nil
	}
	if err = errors.Join(err, hook.Note(o.run, err)); !o.bestEffort {
		return err
	}
	fmt.Fprintf(a.stderr, "plimsoll: the container starts all the same: %s\n", clean.Text(err.Error()))
	return nil
}

// wrapRuntime adds the hook to a bundle that is about to be created, and becomes the runtime.
func (a *app) wrapRuntime(o hookOptions, args []string) error {
	program, err := exec.LookPath(o.runtime)
	if err != nil {
		return usageError("--runtime %s: %w", o.runtime, err)
	}
	command := hook.Command{Policy: o.policy, Run: o.run, State: a.stateDir, BestEffort: o.bestEffort}
	// The engine that called may not show what its runtime prints.
	if err := a.hookFailed(o, command.Add(args)); err != nil {
		return err
	}
	if err := becomeProgram(program, append([]string{o.runtime}, args...)); err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(append([]string{program}, args...), " "), err)
	}
	return nil
}
