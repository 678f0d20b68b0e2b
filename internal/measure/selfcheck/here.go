package selfcheck

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

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// fileSize is the size of the comparison's file, and limitIOPS the rate of its limited device in I/Os per second.
const (
	fileSize  = 256 << 20
	limitIOPS = 500
)

// Options say how to compare the two programs on this machine.
type Options struct {
	// Dir is the folder for the file, Fio the fio to compare with.
	Dir, Fio string
	// State is the state folder, whose journal records the session.
	State string
	// Rounds is how often each program measures each job, Runtime how long each time.
	Rounds  int
	Runtime time.Duration
	// Say receives messages about the progress.
	Say func(string)
}

// interrupted returns err, or the error of an interrupt if that caused it in either program.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: some of the rounds alone don't compare the two programs")
	}
	return err
}

// Here compares this program with fio in a folder, and as root on a limited device as well. The error is a refusal if
// there is no fio, and a *usage.Error if the folder can't be used. If only the clean-up failed, the figures are
// returned with the error.
func Here(ctx context.Context, o Options) (figures []Figure, err error) {
	fio, err := exec.LookPath(o.Fio)
	if err != nil {
		return nil, &refusal.Error{What: "no fio to compare with", Why: err.Error(), Fix: "install it (apt-get install fio) or name it with --fio"}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := Sweep(ctx, o.State); err != nil {
		o.Say("an earlier selfcheck's leftovers: " + clean.Short(err.Error()))
	}
	own, err := begin(ctx, o.State, o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.end()) }()
	dir := own.dir
	file := filepath.Join(dir, "file")
	if _, err := load.Layout(ctx, file, fileSize, load.LayoutOptions{}); err != nil {
		return nil, interrupted(ctx, err)
	}
	cases, err := casesIn(dir, file, o.Runtime)
	if err != nil {
		return nil, err
	}
	limited, lerr := NewLimited(file, own.group(), limitIOPS)
	wrap := Wrap(nil)
	if lerr != nil {
		o.Say("no limited device: " + clean.Short(lerr.Error()))
	} else {
		defer func() { err = errors.Join(err, limited.Close()) }()
		wrap = limited.Wrap
		job := cases[0].Job
		job.Filename, job.Offset, job.RampTime = limited.Device, 0, 200*time.Millisecond
		cases = append(cases, Case{Name: fmt.Sprintf("limited to %d IOPS", limitIOPS), Job: job, Limited: true})
	}
	o.Say(fmt.Sprintf("%d jobs x %d rounds x 2 programs, about %s", len(cases), o.Rounds,
		size.Duration(time.Duration(2*len(cases)*o.Rounds)*(o.Runtime+500*time.Millisecond))))
	ours := Ours([]string{self, "selfcheck", "--child"}, wrap)
	figures, err = Run(ctx, cases, ours, Fio(fio, wrap), o.Rounds, 1+mathrand.Uint64N(1<<32), func(round int, c Case) {
		o.Say(fmt.Sprintf("round %d of %d: %s", round+1, o.Rounds, c.Name))
	})
	if err != nil {
		return nil, interrupted(ctx, err)
	}
	return figures, nil
}

// casesIn returns the jobs, with direct I/O if the folder supports it.
func casesIn(dir, file string, runtime time.Duration) ([]Case, error) {
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
	var cases []Case
	for _, j := range []load.Job{
		{RW: load.RandRead, BS: 4096, IODepth: 32}, {RW: load.RandRead, BS: 4096, IODepth: 1},
		{RW: load.RandWrite, BS: 4096, IODepth: 32}, {RW: load.Read, BS: 1 << 20, IODepth: 4}, {RW: load.Write, BS: 1 << 20, IODepth: 4},
	} {
		j.Filename, j.Size, j.Direct, j.Runtime, j.IOEngine = file, fileSize, direct, runtime, engine
		cases = append(cases, Case{Name: fmt.Sprintf("%s %s depth %d", j.RW, size.Format(j.BS), j.IODepth), Job: j})
	}
	return cases, nil
}

// WriteTable writes figures for people.
func WriteTable(w io.Writer, figures []Figure) error {
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
