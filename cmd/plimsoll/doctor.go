package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"plimsoll/internal/doctor"
	"plimsoll/internal/host/device"
	"plimsoll/internal/text/clean"
	"plimsoll/load"
)

// doctorCommand looks at the machine. It exits with 5 only if not even the host
// engine can measure; anything else that is missing is an answer.
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

--leftovers shows instead what Plimsoll records of the sessions, disks and device-wide
limits of its runs, with the process of each. Those of a process that was killed are
removed by the next run, or by --sweep.

Exit status: 0; 1 if a leftover can't be read or removed; 5 if not even the host engine
can measure here.`,
		Example: `  plimsoll doctor
  plimsoll doctor --json
  plimsoll doctor --leftovers`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if left || sweep {
				return a.leftovers(cmd.Context(), sweep, asJSON)
			}
			host := device.Host()
			probed, remove, err := a.forProbes()
			if err != nil {
				return err
			}
			defer remove()
			report := doctor.Look(cmd.Context(), doctor.Options{
				FS: host, StateDir: a.stateDir, Engines: probed.engines().All(), LookPath: exec.LookPath,
				ProbeIO: load.ProbeEngines, Dev: "/dev", Modules: doctor.ModulesOf(host),
			})
			if cmd.Context().Err() != nil {
				// A part that could not be asked is not missing.
				return errors.New("interrupted before everything was tried: there is no result")
			}
			if err := a.printDoctor(report, asJSON); err != nil {
				return err
			}
			if report.HostImpossible {
				return &exitError{exitCannot, errors.New("nothing can be measured here: see the lines marked no")}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&left, "leftovers", false, "show what runs have made here and not removed yet")
	cmd.Flags().BoolVar(&sweep, "sweep", false, "remove what runs left whose process has ended")
	return cmd
}

// forProbes returns an app whose engines may be probed without leaving anything:
// engines keep the worker's program in the state folder, and where there is none yet, a
// scratch folder beside it stands in. remove has to be called at the end.
func (a *app) forProbes() (probed *app, remove func(), err error) {
	nearest := doctor.Existing(a.stateDir)
	if nearest == a.stateDir {
		return a, func() {}, nil
	}
	dir, err := os.MkdirTemp(nearest, ".plimsoll-doctor-")
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		dir, err = os.MkdirTemp("", "plimsoll-doctor-")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("scratch folder for probes: %w", err)
	}
	scratch := *a
	scratch.stateDir = dir
	return &scratch, func() { _ = os.RemoveAll(dir) }, nil
}

// printDoctor prints a report, for machines or by groups.
func (a *app) printDoctor(r doctor.Report, asJSON bool) error {
	if asJSON {
		return a.printJSON(r)
	}
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s: %s, %d CPUs, %d MiB, %s/%s %s", clean.Line(m.Hostname), clean.Line(orWord(m.CPUModel, "unnamed CPU")), m.CPUs, m.Memory>>20, m.OS, m.Arch, m.Kernel)
	if m.Virtual != "" {
		fmt.Fprintf(&b, ", virtual (%s)", m.Virtual)
	}
	if m.Cgroup != "" {
		fmt.Fprintf(&b, ", cgroup %s", m.Cgroup)
	}
	b.WriteByte('\n')
	for _, group := range []string{doctor.Measure, doctor.Limit, doctor.Provide} {
		fmt.Fprintf(&b, "\n%s\n", group)
		for _, i := range r.Items {
			if i.Group == group {
				printItem(&b, i)
			}
		}
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

func printItem(b *strings.Builder, i doctor.Item) {
	// DOCKER_HOST, file systems and daemons say what they like.
	fmt.Fprintf(b, "  %-6s  %s", i.Status, clean.Line(i.What))
	if i.Why != "" {
		fmt.Fprintf(b, ": %s", clean.Line(i.Why))
	}
	b.WriteByte('\n')
	if i.Fix != "" {
		fmt.Fprintf(b, "          fix: %s\n", clean.Line(i.Fix))
	}
}

// orWord is s, or word where s is empty.
func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}
