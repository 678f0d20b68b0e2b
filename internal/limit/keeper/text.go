package keeper

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

// Text returns the limits that each container would get.
func (looked Preview) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n", looked.Policy, size.Plural(looked.Rules, "rule"), size.Plural(len(looked.Containers), "running container"))
	all := slices.Clone(looked.Containers)
	if looked.RootGroup != nil {
		all = append(all, *looked.RootGroup)
	}
	all = append(all, looked.Together...)
	w := layout.Table{Head: []string{"CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "NOW"}}
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
			w.Add(s.Target, string(g.Key), g.Value, deviceOf(g.Grant), g.Rule, now)
		}
		faults.add(s.Target, s.Faults)
		faults.unlimited(s.Target, s.Unlimited)
		escapes.Add(s.Target, s.Escapes)
	}
	faults.add("", looked.TogetherFaults)
	w.Write(&b)
	faults.print(&b)
	faultLines(escapes.Lines()).print(&b)
	if free > 0 {
		fmt.Fprintf(&b, "no rule matches %s\n", size.Plural(free, "container"))
	}
	for _, name := range looked.Unmatched {
		fmt.Fprintf(&b, "%s matches no running container\n", clean.Line(policy.Called(name)))
	}
	return b.String()
}

// faultLines are what can't be kept, a line each: a table's columns are no place for sentences.
type faultLines []string

func (l *faultLines) add(who string, faults []Fault) {
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
func deviceOf(g Grant) string {
	s := g.DeviceName
	if !g.Device.IsZero() {
		s += " (" + g.Device.String() + ")"
	}
	if g.DeviceWide {
		s += ", root group"
	}
	if g.Together {
		s += ", together"
	}
	return s
}

// Text returns the keeper's state as a user reads it, with ages as of now.
func (s Status) Text(now time.Time) string {
	var b strings.Builder
	say := func(format string, args ...any) {
		fmt.Fprintln(&b, clean.Line(fmt.Sprintf(format, args...)))
	}
	say("daemon %d, running for %s", s.PID, ago(now, s.Since))
	say("policy %s: %s, loaded %s ago", s.Policy.From, size.Plural(s.Policy.Rules, "rule"), ago(now, s.Policy.Loaded))
	if s.Policy.Fault != "" {
		say("the present policy file is NOT in force: %s", s.Policy.Fault)
	}
	for _, e := range s.Engines {
		switch {
		case e.Connected:
			say("%s: connected for %s", e.Name, ago(now, e.Since))
		default:
			say("%s: connection lost %s ago: %s", e.Name, ago(now, e.Since), e.Error)
		}
	}
	if s.Unlisted != "" {
		say("some containers may be missing here: %s", s.Unlisted)
	}
	say("since its start: %s from engines, %s of all limits, %s to control files", size.Plural(int(s.Events), "event"), size.Plural(int(s.Checks), "check"), size.Plural(int(s.Writes), "write"))
	say("limits restored after a change by another program: %s", size.Plural(int(s.Drift), "time"))
	if !s.LastCheck.At.IsZero() {
		say("last check %s ago: %s, %s, took %.1f ms", ago(now, s.LastCheck.At), size.Plural(s.LastCheck.Groups, "target"), size.Plural(s.LastCheck.Writes, "write"), float64(s.LastCheck.Took)/1e6)
	}
	all := slices.Clone(s.Containers)
	if s.RootGroup != nil {
		all = append(all, *s.RootGroup)
	}
	all = append(all, s.Together...)
	say("%s with a rule, %d without", size.Plural(len(s.Containers), "container"), s.Others)
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
		faults.print(&b)
		return b.String()
	}
	w := layout.Table{Head: []string{"CONTAINER", "LIMIT", "VALUE", "DEVICE", "RULE", "FOR", "BEFORE", "RESTORED"}}
	for _, c := range all {
		for _, h := range c.Held {
			w.Add(c.Target, string(h.Key), h.Value, deviceOf(h.Grant), h.Rule, ago(now, h.Since), h.Was, fmt.Sprint(h.Drift))
		}
	}
	w.Write(&b)
	faults.print(&b)
	faultLines(escapes.Lines()).print(&b)
	return b.String()
}

// ago is how long something is past, in whole seconds.
func ago(now, then time.Time) string { return now.Sub(then).Truncate(time.Second).String() }
