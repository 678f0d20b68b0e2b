package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// selfcheckFlags are the flags of plimsoll selfcheck.
type selfcheckFlags struct {
	dir, fio string
	rounds   int
	runtime  time.Duration
	json     bool
	child    bool
}

// selfcheckFile is the size of its file, and selfcheckLimit the rate in I/Os a second of its limited device.
const (
	selfcheckFile  = 256 << 20
	selfcheckLimit = 500
)

func (a *app) selfcheckCommand() *cobra.Command {
	var f selfcheckFlags
	c := &cobra.Command{
		Use:   "selfcheck",
		Short: "Compare Plimsoll's load generator with fio, here and now",
		Long: `Selfcheck runs the same jobs with Plimsoll's own load generator and with fio, interleaved
in a random order, and prints the ratio of IOPS, mean and 99th percentile of the
latency, and CPU time per I/O, each with its interval.

As root it also does so on a loop device that is limited to 500 I/Os a second, where both must
measure the limit. A difference there of more than 5 % beyond the noise is a fault, with exit
status 4. On other storage, differences come from the two generators.`,
		Example: `  plimsoll selfcheck                     about a minute and a half
  plimsoll selfcheck --dir /mnt/data --rounds 12
  plimsoll selfcheck --fio /opt/fio/bin/fio --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.child {
				return selfcheck.Child(cmd.Context(), a.stdin, a.stdout)
			}
			return a.selfcheck(cmd.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", os.TempDir(), "folder for the file of 256 MiB")
	fl.StringVar(&f.fio, "fio", "fio", "the fio to compare with")
	fl.IntVar(&f.rounds, "rounds", 6, "how often each program measures each job")
	fl.DurationVar(&f.runtime, "runtime", time.Second, "how long each measurement takes")
	fl.BoolVar(&f.json, "json", false, "print the figures as JSON")
	fl.BoolVar(&f.child, "child", false, "do the job on standard input")
	fl.MarkHidden("child")
	return c
}

// selfcheckError is err, or that it was interrupted, whichever of the programs met that.
func selfcheckError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: some of the rounds alone don't compare the two programs")
	}
	return err
}

// selfcheck measures and prints.
func (a *app) selfcheck(ctx context.Context, f selfcheckFlags) (err error) {
	if f.rounds < 1 || f.rounds > 1000 || f.runtime < 100*time.Millisecond || f.runtime > time.Hour {
		return usageError("--rounds has to be from 1 to 1000 and --runtime from 100ms to 1h")
	}
	fio, err := exec.LookPath(f.fio)
	if err != nil {
		return &exitError{exitCannot, fmt.Errorf("no fio to compare with: %w; install it (apt-get install fio) or name it with --fio", err)}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(f.dir, "plimsoll-selfcheck-")
	if err != nil {
		return usageError("--dir: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "file")
	if _, err := load.Layout(ctx, file, selfcheckFile, load.LayoutOptions{}); err != nil {
		return selfcheckError(ctx, err)
	}
	cases, err := selfcheckCases(dir, file, f.runtime)
	if err != nil {
		return err
	}
	limited, lerr := selfcheck.NewLimited(ctx, file, selfcheckLimit)
	wrap := selfcheck.Wrap(nil)
	if lerr != nil {
		fmt.Fprintf(a.stderr, "no limited device: %s\n", clean.Short(lerr.Error()))
	} else {
		defer func() { err = errors.Join(err, limited.Close()) }()
		wrap = limited.Wrap
		job := cases[0].Job
		job.Filename, job.Offset, job.RampTime = limited.Device, 0, 200*time.Millisecond
		cases = append(cases, selfcheck.Case{Name: fmt.Sprintf("limited to %d IOPS", selfcheckLimit), Job: job, Limited: true})
	}
	fmt.Fprintf(a.stderr, "%d jobs x %d rounds x 2 programs, about %s\n", len(cases), f.rounds,
		size.Duration(time.Duration(2*len(cases)*f.rounds)*(f.runtime+500*time.Millisecond)))
	ours := selfcheck.Ours([]string{self, "selfcheck", "--child"}, wrap)
	figures, err := selfcheck.Run(ctx, cases, ours, selfcheck.Fio(fio, wrap), f.rounds, 1+mathrand.Uint64N(1<<32), func(round int, c selfcheck.Case) {
		fmt.Fprintf(a.stderr, "round %d of %d: %s\n", round+1, f.rounds, c.Name)
	})
	if err != nil {
		return selfcheckError(ctx, err)
	}
	if f.json {
		err = a.printJSON(map[string]any{"tolerance": selfcheck.Tolerance, "rounds": f.rounds, "figures": figures})
	} else {
		err = selfcheckTable(a.stdout, figures)
	}
	faults := 0
	for _, g := range figures {
		if g.Fault {
			faults++
		}
	}
	if err == nil && faults > 0 {
		err = &exitError{exitNotHeld, fmt.Errorf("plimsoll and fio disagree on a limited device in %d figures: one of them is wrong", faults)}
	}
	return err
}

// selfcheckCases are the jobs: with direct I/O if the folder takes it.
func selfcheckCases(dir, file string, runtime time.Duration) ([]selfcheck.Case, error) {
	probe := load.Job{RW: load.RandRead, Filename: file, Direct: true, IOEngine: load.PSync}
	direct := true
	if r, err := load.Prepare(probe); err == nil {
		r.Close()
	} else {
		var refused *load.DirectError
		if !errors.As(err, &refused) {
			return nil, err
		}
		direct = false
	}
	engine := load.PSync
	for _, p := range load.ProbeEngines(dir) {
		if p.OK && (p.Engine == load.IOUring || p.Engine == load.LinuxAIO && direct) {
			engine = p.Engine
			break
		}
	}
	var cases []selfcheck.Case
	for _, j := range []load.Job{
		{RW: load.RandRead, BS: 4096, IODepth: 32}, {RW: load.RandRead, BS: 4096, IODepth: 1},
		{RW: load.RandWrite, BS: 4096, IODepth: 32}, {RW: load.Read, BS: 1 << 20, IODepth: 4}, {RW: load.Write, BS: 1 << 20, IODepth: 4},
	} {
		j.Filename, j.Size, j.Direct, j.Runtime, j.IOEngine = file, selfcheckFile, direct, runtime, engine
		cases = append(cases, selfcheck.Case{Name: fmt.Sprintf("%s %s depth %d", j.RW, size.Format(j.BS), j.IODepth), Job: j})
	}
	return cases, nil
}

// selfcheckTable prints the figures.
func selfcheckTable(w io.Writer, figures []selfcheck.Figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tfigure\tplimsoll\tfio\tratio\t95 % interval\t")
	last := ""
	for _, f := range figures {
		name := f.Case
		if name == last {
			name = ""
		}
		last = f.Case
		show := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		if f.Name != "IOPS" {
			show = func(v float64) string { return size.Duration(time.Duration(v)) }
		}
		between, word := "one round has none", ""
		if f.Low > 0 {
			between = fmt.Sprintf("%.2f-%.2f", f.Low, f.High)
		}
		if f.Fault {
			word = "FAULT: they must agree here"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\n", name, f.Name, show(f.Ours), show(f.Fio), f.Ratio, between, word)
	}
	return t.Flush()
}
