package diskspd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/load"
)

// RunOptions are what Run needs beside the test.
type RunOptions struct {
	// Destructive holds the paths of targets that may be written over though they hold others' data.
	Destructive []string
	// System is the machine of the report. nil: this one.
	System *System
}

// Run runs the time spans one after the other and prints the report on stdout; warnings and dots go
// to stderr. If it breaks off, nothing is printed on stdout.
func (t *Test) Run(ctx context.Context, session dialect.Session, opt RunOptions, stdout, stderr io.Writer) error {
	for _, w := range t.Warnings {
		fmt.Fprintln(stderr, w)
	}
	p := &t.Profile
	if p.Only {
		return emit(stdout, p.printed())
	}
	leave, err := dialect.Leave(session, opt.Destructive, p.paths())
	if err != nil {
		return err
	}
	t.doubts(stderr)
	r := Results{}
	if opt.System != nil {
		r.System = *opt.System
	} else {
		r.System = ThisSystem()
	}
	for i := range p.Spans {
		s := &p.Spans[i]
		res, err := session.Stage(ctx, fmt.Sprintf("timespan %d", i+1), s.stage(session, leave), dots(p.Progress, stderr))
		if err != nil {
			return fmt.Errorf("time span %d: %w", i+1, err)
		}
		for _, n := range res.Notes {
			fmt.Fprintln(stderr, "WARNING:", n)
		}
		r.Spans = append(r.Spans, s.spanResult(res))
	}
	if p.Progress > 0 {
		fmt.Fprintln(stderr)
	}
	return emit(stdout, p.report(&r))
}

// paths are those of the targets of all time spans.
func (p *Profile) paths() (all []string) {
	for i := range p.Spans {
		for k := range p.Spans[i].Targets {
			if path := p.Spans[i].Targets[k].Path; !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

func emit(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

// printed is the profile in its own format.
func (p *Profile) printed() string {
	if p.XML {
		return ProfileXML(p)
	}
	return ProfileText(p)
}

// report is the whole report in the profile's format.
func (p *Profile) report(r *Results) string {
	if p.XML {
		return ResultsXML(p, r)
	}
	return ResultsText(p, r)
}

// doubts prints what is true of the test but easily overlooked.
func (t *Test) doubts(stderr io.Writer) {
	pattern, cached := false, false
	for i := range t.Profile.Spans {
		s := &t.Profile.Spans[i]
		for k := range s.Targets {
			g := &s.Targets[k]
			pattern = pattern || g.WriteRatio > 0 && !g.Zero && g.RandomSize == 0 && !s.RandomWrites
			cached = cached || g.Cache == Cached && !g.WriteThrough
		}
	}
	if pattern {
		fmt.Fprintln(stderr, "NOTE: writes have the bytes 0 to 255 over and over, DiskSpd's default, which file systems and disks can compress; -Zr or -Z<size> writes random data")
	}
	if cached {
		fmt.Fprintln(stderr, "NOTE: the system's cache is on, DiskSpd's default, so that much of this may be the speed of memory; -Sh turns it off")
	}
}

// dots prints a dot after each so many I/Os; nil for 0.
func dots(every uint32, w io.Writer) func(load.Sample) {
	if every == 0 {
		return nil
	}
	done := int64(0)
	return func(s load.Sample) {
		before := done / int64(every)
		done += s.Ops
		// A line of a terminal is enough for one sample.
		if n := done/int64(every) - before; n > 0 {
			io.WriteString(w, strings.Repeat(".", int(min(n, 80)))) // dots that get lost are no harm
		}
	}
}
