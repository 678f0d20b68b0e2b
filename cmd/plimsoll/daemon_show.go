package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/daemon"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
	"plimsoll/internal/text/size"
	"plimsoll/internal/watch"
)

// A cells prints a table whose cells are others' words.
type cells struct{ *tabwriter.Writer }

func newCells(w io.Writer) cells { return cells{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (c cells) row(words ...string) {
	for i, w := range words {
		words[i] = clean.Line(w)
	}
	fmt.Fprintln(c, strings.Join(words, "\t"))
}

// showCheck prints what each container would get.
func (a *app) showCheck(path string, p *policy.Policy, looked keeper.Looked, running []target.Target) error {
	fmt.Fprintf(a.stdout, "%s: %s, %s\n", path, size.Plural(len(p.Rules), "rule"), size.Plural(len(running), "running container"))
	all := slices.Clone(looked.Containers)
	if looked.RootGroup != nil {
		all = append(all, *looked.RootGroup)
	}
	all = append(all, looked.Together...)
	w := newCells(a.stdout)
	w.row("CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "NOW")
	free := 0
	var faults faultLines
	var escapes hold.EscapeLines
	for _, s := range looked.Containers {
		if len(s.Rules) == 0 {
			free++
		}
	}
	for _, s := range all {
		for _, g := range s.Grants {
			now := g.Now
			if g.Same {
				now = "the same"
			}
			w.row(s.Target, string(g.Key), g.Value, deviceOf(g.Grant), g.Rule, now)
		}
		faults.add(s.Target, s.Faults)
		faults.unlimited(s.Target, s.Unlimited)
		escapes.Add(s.Target, s.Escapes)
	}
	faults.add("", looked.TogetherFaults)
	if err := w.Flush(); err != nil {
		return err
	}
	faults.print(a.stdout)
	faultLines(escapes.Lines()).print(a.stdout)
	if free > 0 {
		fmt.Fprintf(a.stdout, "without a rule: %s\n", size.Plural(free, "container"))
	}
	for _, name := range p.Unmatched(running) {
		fmt.Fprintf(a.stdout, "%s matches no running container\n", clean.Line(policy.Called(name)))
	}
	return nil
}

// faultLines are what can't be kept, a line each: a table's columns are no place for sentences.
type faultLines []string

func (l *faultLines) add(who string, faults []keeper.Fault) {
	for _, f := range faults {
		line := f.String()
		if who != "" {
			line = who + ": " + line
		}
		*l = append(*l, clean.Line(line))
	}
}

// unlimited adds what of a container's data has no limit.
func (l *faultLines) unlimited(who string, sentences []string) {
	for _, s := range sentences {
		*l = append(*l, clean.Line(who+": no limit: "+s))
	}
}

func (l faultLines) print(w io.Writer) {
	for _, line := range l {
		fmt.Fprintln(w, clean.Line(line))
	}
}

// deviceOf says where a limit goes.
func deviceOf(g keeper.Grant) string {
	s := g.DeviceName
	if !g.Device.IsZero() {
		s += " (" + g.Device.String() + ")"
	}
	if g.Wide {
		s += ", root group"
	}
	if g.Together {
		s += ", together"
	}
	return s
}

// daemonStatus shows what the running daemon holds.
func (a *app) daemonStatus(o daemonOptions) error {
	s, err := daemon.Ask(o.run)
	if errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitFailure, err}
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(jsonlist.Of(s))
	}
	now := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf(format, args...)))
	}
	say("process %d, for %s", s.PID, ago(now, s.Since))
	say("policy %s: %s, loaded %s ago", s.Policy.From, size.Plural(s.Policy.Rules, "rule"), ago(now, s.Policy.Loaded))
	if s.Policy.Fault != "" {
		say("NOT in force: %s", s.Policy.Fault)
	}
	for _, e := range s.Engines {
		switch {
		case e.Connected:
			say("%s: connected for %s", e.Name, ago(now, e.Since))
		default:
			say("%s: lost %s ago: %s", e.Name, ago(now, e.Since), e.Error)
		}
	}
	if s.Unlisted != "" {
		say("some containers may not be known: %s", s.Unlisted)
	}
	say("since its start: %s of engines, all limits looked at %s, %s, and changes by other programs put back %s", size.Plural(int(s.Events), "event"), size.Plural(int(s.Checks), "time"), size.Plural(int(s.Writes), "write"), size.Plural(int(s.Drift), "time"))
	if !s.LastCheck.At.IsZero() {
		say("the last look %s ago took %.1f ms for %s and %s", ago(now, s.LastCheck.At), float64(s.LastCheck.Took)/1e6, size.Plural(s.LastCheck.Groups, "target"), size.Plural(s.LastCheck.Writes, "write"))
	}
	all := slices.Clone(s.Containers)
	if s.RootGroup != nil {
		all = append(all, *s.RootGroup)
	}
	all = append(all, s.Together...)
	say("%s held, %d without a rule", size.Plural(len(s.Containers), "container"), s.Others)
	var faults faultLines
	var escapes hold.EscapeLines
	for _, c := range all {
		faults.add(c.Target, c.Faults)
		faults.unlimited(c.Target, c.Unlimited)
		escapes.Add(c.Target, c.Escapes)
		for _, text := range c.Elsewhere {
			faults = append(faults, clean.Line(c.Target+": "+text))
		}
	}
	faults.add("", s.TogetherFaults)
	if len(all) == 0 {
		faults.print(a.stdout)
		return nil
	}
	w := newCells(a.stdout)
	w.row("CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "FOR", "BEFORE", "PUT BACK")
	for _, c := range all {
		for _, h := range c.Held {
			w.row(c.Target, string(h.Key), h.Value, deviceOf(h.Grant), h.Rule, ago(now, h.Since), h.Was, fmt.Sprint(h.Drift))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	faults.print(a.stdout)
	faultLines(escapes.Lines()).print(a.stdout)
	return a.showUsage(s)
}

// showUsage prints what the containers did, and what of their limits they used.
func (a *app) showUsage(s *daemon.Status) error {
	if s.UsageError != "" {
		fmt.Fprintf(a.stdout, "\ntheir I/O isn't known: %s\n", clean.Line(s.UsageError))
		return nil
	}
	if s.Usage == nil {
		return nil
	}
	idle := 0
	for _, u := range s.Usage.Subjects {
		if !u.Busy() {
			idle++
		}
	}
	// Those that do nothing are counted only.
	text := watch.Text{Width: terminal(a.stdout).Width}
	rows := text.Targets(s.Usage)
	var b strings.Builder
	fmt.Fprintf(&b, "\nin the last %.1f s, %d idle\n", s.Usage.Seconds, idle)
	if rows.Len() > 0 {
		rows.Write(&b)
	}
	text.Volumes(&b, s.Usage.Volumes)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// ago is how long something is past, in whole seconds.
func ago(now, then time.Time) string { return now.Sub(then).Truncate(time.Second).String() }
