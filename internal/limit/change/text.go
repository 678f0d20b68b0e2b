package change

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// Text returns what was changed, or would be, in a line for each group set, and what to know about it.
func (r *Result) Text() string {
	var b strings.Builder
	say := func(format string, args ...any) {
		// Print each as a single line: a name that contains a line break could imitate another message.
		fmt.Fprintln(&b, clean.Line(fmt.Sprintf(format, args...)))
	}
	for _, d := range r.Done {
		switch {
		case r.DryRun && !d.Changes():
			say("%s: nothing to write%s", d.GroupSet.Name, r.already(d))
		case r.DryRun:
			say("%s: would write", d.GroupSet.Name)
			for _, p := range d.Properties {
				say("  %s to the unit %s", p, d.GroupSet.Unit)
			}
			for _, e := range d.Diff.Edits {
				say("  %s", e)
			}
		case !d.Changes():
			say("%s: unchanged%s", d.GroupSet.Name, r.already(d))
		case !d.Restored.IsZero():
			say("%s: removed the limits of %s; restored %s, which was there before", d.GroupSet.Name, d.GroupSet.For, d.Restored.Words())
		case r.Set.IsZero() || d.GroupSet.For != "":
			say("%s: cleared", d.GroupSet.Name)
		default:
			set := r.Set
			if d.GroupSet.DeviceWide {
				set = set.Without(slices.DeleteFunc(slices.Clone(limit.Keys), limit.Key.Rate)...) // The root group has no others.
			}
			say("%s: set %s", d.GroupSet.Name, set.Words())
		}
		if len(d.Properties) > 0 && !r.DryRun {
			say("  by systemd too, for the unit %s: a daemon-reload leaves them", d.GroupSet.Unit)
		}
		if d.Kept != "" {
			say("  stored by %s for the next start", d.Kept)
		}
		if len(d.Forgot) > 0 {
			say("  the engine no longer stores %s; its runtime keeps it until the next start, and an update of the container would set it again", strings.Join(d.Forgot, ", "))
		}
		for _, n := range slices.Concat(d.Diff.Notes, d.Notes) {
			say("  note: %s", n)
		}
		if d.Stored != nil {
			say("  note: %s", d.Stored)
		}
	}
	for _, g := range r.Places {
		for _, d := range g.Explanation.Hard {
			say("%s: on %s (%s)", clean.Name(g.Name), d.Name, d.Number)
		}
	}
	for _, i := range r.Implied {
		say("%s", i)
	}
	for _, n := range r.Notes {
		say("note: %s", n)
	}
	if r.Policy != "" && !r.DryRun {
		b.WriteString(r.restartNote())
	}
	if r.verify != "" && !r.DryRun {
		fmt.Fprintln(&b, clean.Text("prove it: "+r.verify))
	}
	return b.String()
}

// already says why a change writes nothing in a group set.
func (r *Result) already(d hold.Done) string {
	switch {
	case !d.Restored.IsZero():
		return fmt.Sprintf(": %s was there before %s, and stays; only the record goes", d.Restored.Words(), d.GroupSet.For)
	case d.GroupSet.For != "":
		return "" // The notes say it.
	case r.Set.IsZero():
		return ": it has no such limits"
	case d.GroupSet.DeviceWide && len(r.Set.Keys(limit.Key.Rate)) == 0:
		return ": it takes only rates"
	}
	return ": it has these limits already"
}
