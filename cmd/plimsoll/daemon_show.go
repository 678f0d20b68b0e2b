package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/clean"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/limit/target"
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
func (a *app) showCheck(path string, p *policy.Policy, looks []keeper.Seen, running []target.Target) {
	fmt.Fprintf(a.stdout, "%s: %d rules, %d running containers\n", path, len(p.Rules), len(running))
	w := newCells(a.stdout)
	w.row("CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "NOW")
	free, faults := 0, 0
	for _, s := range looks {
		if len(s.Grants)+len(s.Faults) == 0 {
			free++
			continue
		}
		for _, g := range s.Grants {
			now := g.Now
			if g.Same {
				now = "the same"
			}
			w.row(s.Target, string(g.Key), g.Value, deviceOf(g.Grant), g.Rule, now)
		}
		for _, f := range s.Faults {
			faults++
			w.row(s.Target, "can't be kept", "", "", f.Rule, f.Text)
		}
	}
	w.Flush()
	if free > 0 {
		fmt.Fprintf(a.stdout, "%d containers match no rule\n", free)
	}
	for _, name := range unmatched(p, running) {
		fmt.Fprintf(a.stdout, "rule %s matches no running container\n", clean.Line(name))
	}
}

// deviceOf says where a limit goes.
func deviceOf(g keeper.Grant) string {
	s := g.DeviceName
	if g.Device != "" {
		s += " (" + g.Device + ")"
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
	s, err := keeper.Ask(o.run)
	if errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitFailure, err}
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(s)
	}
	now := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf(format, args...)))
	}
	say("process %d, for %s", s.PID, ago(now, s.Since))
	say("policy %s: %d rules, loaded %s ago", s.Policy.From, s.Policy.Rules, ago(now, s.Policy.Loaded))
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
	say("%d events, %d looks at all limits, %d writes, %d limits put back that others had changed", s.Events, s.Checks, s.Writes, s.Drift)
	if !s.LastCheck.At.IsZero() {
		say("the last look %s ago took %.1f ms for %d targets and %d writes", ago(now, s.LastCheck.At), float64(s.LastCheck.Took)/1e6, s.LastCheck.Groups, s.LastCheck.Writes)
	}
	all := s.Containers
	if s.RootGroup != nil {
		all = append(all, *s.RootGroup)
	}
	all = append(all, s.Together...)
	for _, f := range s.TogetherFaults {
		say("%s", f)
	}
	say("%d containers held, %d others", len(s.Containers), s.Others)
	if len(all) == 0 {
		return nil
	}
	w := newCells(a.stdout)
	w.row("CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "FOR", "BEFORE", "PUT BACK")
	for _, c := range all {
		for _, h := range c.Held {
			w.row(c.Target, string(h.Key), h.Value, deviceOf(h.Grant), h.Rule, ago(now, h.Since), h.Was, fmt.Sprint(c.Drift))
		}
		for _, f := range c.Faults {
			w.row(c.Target, "can't be kept", "", "", f.Rule, f.Text)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return a.showUsage(s)
}

// showUsage prints what the containers did, and what of their limits they used.
func (a *app) showUsage(s *keeper.Status) error {
	if s.UsageError != "" {
		fmt.Fprintf(a.stdout, "\nwhat they do isn't known: %s\n", clean.Line(s.UsageError))
		return nil
	}
	if s.Usage == nil {
		return nil
	}
	rows := watchText{all: true, width: terminal(a.stdout).Width}.targets(s.Usage)
	var b strings.Builder
	rows.write(&b)
	_, err := fmt.Fprintf(a.stdout, "\nin the last %.1f s\n%s", s.Usage.Seconds, b.String())
	return err
}

// ago is how long something is past, in whole seconds.
func ago(now, then time.Time) string { return now.Sub(then).Truncate(time.Second).String() }
