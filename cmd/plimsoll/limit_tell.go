package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
)

// change makes a change and tells of it.
func (a *app) change(ctx context.Context, l *limiter, apply applier, s *hold.Scope, change limit.Change, where limitWhere, dry bool) error {
	done, err := apply(ctx, s, change)
	if err != nil {
		return limitError(err)
	}
	s.Notes = append(s.Notes, a.changeNotes(ctx, l, s, change, where)...)
	return a.tellDone(l, s, change, done, where, dry)
}

// tellDone prints what was done.
func (a *app) tellDone(l *limiter, s *hold.Scope, change limit.Change, done []hold.Done, where limitWhere, dry bool) error {
	if where.json {
		result := limitResult{DryRun: dry, Scope: s, Set: change.Set, Remove: change.Remove, Done: done, Implied: implied(s, change)}
		if !stored(done) {
			result.Policy = keeper.Rules(s, change, where.Where)
		}
		return a.printJSON(jsonlist.Of(result))
	}
	a.tellChange(s, change, done, dry)
	if !dry {
		a.tellRestart(s, change, done, where)
	}
	if prove := a.proveIt(l, s, change, where); prove != "" && !dry {
		fmt.Fprintln(a.stdout, clean.Text("prove it: "+prove))
	}
	return nil
}

// A limitResult is what set and clear print with --json.
type limitResult struct {
	DryRun bool `json:"dry_run"`
	*hold.Scope
	Set     limit.Limits    `json:"set"`
	Remove  []limit.Key     `json:"remove"`
	Done    []hold.Done     `json:"done"`
	Implied []limit.Implied `json:"implied"`
	// Policy is the rule by which plimsoll daemon holds the limits over restarts of the containers, which lose them; empty where
	// nothing is lost.
	Policy string `json:"policy,omitempty"`
}

// implied says what the rates of a change mean in the other unit.
func implied(s *hold.Scope, change limit.Change) []limit.Implied {
	maxIO := int64(0)
	for _, d := range s.Devices() {
		maxIO = max(maxIO, d.MaxIO)
	}
	return change.Set.Implied(impliedSizes, maxIO)
}

// tellChange prints what was changed.
func (a *app) tellChange(s *hold.Scope, change limit.Change, done []hold.Done, dry bool) {
	verb := "set"
	if dry {
		verb = "would write"
	}
	say := func(format string, args ...any) {
		// A line each: a name with a line break in it may look like another message.
		fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf(format, args...)))
	}
	for _, d := range done {
		switch {
		case dry && !d.Changes():
			say("%s: nothing to write", d.Part.Name)
		case dry:
			say("%s: would write", d.Part.Name)
			for _, p := range d.Properties {
				say("  %s to the unit %s", p, d.Part.Unit)
			}
			for _, e := range d.Diff.Edits {
				say("  %s", e)
			}
		case !d.Changes():
			say("%s: unchanged", d.Part.Name)
		case change.Set.IsZero() || d.Part.For != "":
			say("%s: cleared", d.Part.Name)
		default:
			set := change.Set
			if d.Part.DeviceWide {
				set = set.Without(slices.DeleteFunc(slices.Clone(limit.Keys), limit.Key.Rate)...) // It has no others.
			}
			say("%s: %s %s", d.Part.Name, verb, set.Words())
		}
		if len(d.Properties) > 0 && !dry {
			say("  by systemd too, for the unit %s: a daemon-reload leaves them", d.Part.Unit)
		}
		if d.Kept != "" {
			say("  stored by %s for the next start", d.Kept)
		}
		if len(d.Forgot) > 0 {
			say("  the engine has forgotten %s; until the next start its runtime remembers, and an update of the container would set it again", strings.Join(d.Forgot, ", "))
		}
		for _, n := range slices.Concat(d.Diff.Notes, d.Notes) {
			say("  note: %s", n)
		}
		if d.Stored != nil {
			say("  note: %s", d.Stored)
		}
	}
	for _, g := range s.Grounds {
		for _, d := range g.Explanation.Hard {
			say("%s: on %s (%s)", clean.Name(g.Name), d.Name, d.Number())
		}
	}
	for _, i := range implied(s, change) {
		say("%s", i)
	}
	for _, n := range s.Notes {
		say("note: %s", n)
	}
}
