package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/doctor"
	"plimsoll/internal/host/device"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
	"plimsoll/load"
)

// doctorCommand checks the machine. It exits with 5 only if not even the host engine can measure; anything else that is
// missing is part of the answer.
func (a *app) doctorCommand() *cobra.Command {
	var asJSON, left, sweep bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "List what this machine can measure, limit and provide",
		Long: `Doctor shows what this machine can measure, limit and provide, and what would
enable the rest. It changes nothing: it loads no module, starts no daemon and
changes no setting. It tries engines and I/O engines in a scratch folder or
container, and removes that.

Each line begins with ok, partly or no. A line marked "fix:" has a command or
advice; doctor does not run it for you.

--leftovers lists instead the sessions, disks and device-wide limits that Plimsoll has
made and not yet removed, each with the process that made it. If that process was killed,
the next run removes them; --sweep does so at once.

Exit status: 0 done; 1 a leftover can't be read or removed; 5 not even the host engine
can measure here.`,
		Example: `  plimsoll doctor
  plimsoll doctor --json
  plimsoll doctor --leftovers`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case sweep:
				return a.sweepLeftovers(cmd.Context(), asJSON)
			case left:
				return a.leftovers(asJSON)
			}
			host := device.Host()
			state, remove, err := doctor.Scratch(a.stateDir)
			if err != nil {
				return err
			}
			defer remove()
			probed := a.engines()
			probed.State = state
			report := doctor.Look(cmd.Context(), doctor.Options{
				FS: host, StateDir: a.stateDir, Engines: probed.All(), LookPath: exec.LookPath,
				ProbeIO: load.ProbeEngines, Dev: "/dev", Modules: doctor.ModulesOf(host),
			})
			if cmd.Context().Err() != nil {
				// A part that was not checked is not missing.
				return errors.New("interrupted before everything was tried: there is no result")
			}
			if asJSON {
				err = a.printJSON(report)
			} else {
				err = report.WriteText(a.stdout)
			}
			if err != nil {
				return err
			}
			if report.HostImpossible {
				return &exitError{exitCannot, errors.New("nothing can be measured here: see the lines marked no")}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&left, "leftovers", false, "list what Plimsoll has made here and not yet removed")
	cmd.Flags().BoolVar(&sweep, "sweep", false, "remove the leftovers of processes that have ended")
	cmd.MarkFlagsMutuallyExclusive("leftovers", "sweep")
	return cmd
}

// leftovers prints what the journals of the state folder and of the machine record.
func (a *app) leftovers(asJSON bool) error {
	if err := paths.Old(a.stateDir, a.machine()); err != nil {
		return err
	}
	missing := a.stateMissing()
	list, err := doctor.Leftovers(a.stateDir, a.machine())
	if asJSON {
		return errors.Join(a.printJSON(list), err)
	}
	if len(list) == 0 && err == nil {
		if missing {
			return nil
		}
		fmt.Fprintf(a.stdout, "Nothing is recorded in %s: no run is under way, and none left anything.\n", clean.Line(a.stateDir))
		return nil
	}
	if err := errors.Join(doctor.WriteLeftovers(a.stdout, list), err); err != nil {
		return err
	}
	if sweepable := doctor.Sweepable(list); sweepable > 0 {
		fmt.Fprintf(a.stderr, "%d of %d belong to processes that have ended: plimsoll doctor --sweep%s removes them, and so does the next plimsoll run.\n", sweepable, len(list), a.stateFlag())
	}
	return nil
}

// stateMissing reports whether there is no state folder, and prints that: its name may be mistyped.
func (a *app) stateMissing() bool {
	_, err := os.Stat(a.stateDir)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		fmt.Fprintf(a.stderr, "There is no folder %s, so nothing is recorded in it.\n", clean.Line(a.stateDir))
	}
	return missing
}

// sweepLeftovers removes what ended processes left, and lists it.
func (a *app) sweepLeftovers(ctx context.Context, asJSON bool) error {
	if err := paths.Old(a.stateDir, a.machine()); err != nil {
		return err
	}
	a.stateMissing()
	removed, err := doctor.Sweep(ctx, device.Host(), a.stateDir, a.machine(), a.engines().All())
	switch {
	case asJSON:
		err = errors.Join(err, a.printJSON(removed))
	case len(removed) == 0 && err == nil:
		list, _ := doctor.Leftovers(a.stateDir, a.machine()) // Sweep has reported what can't be read.
		if n := doctor.Running(list); n > 0 {
			fmt.Fprintf(a.stderr, "There was nothing to remove: %d of %d belong to running processes.\n", n, len(list))
		} else {
			fmt.Fprintln(a.stderr, "There was nothing to remove.")
		}
	case len(removed) > 0:
		fmt.Fprintln(a.stdout, clean.Text("removed "+strings.Join(removed, "\nremoved ")))
	}
	return err
}
