package share

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

// proof says how far a check goes.
const proof = "The hash shows changes; it does not prove who made the file. The figures fit together, which is hard to invent but not impossible: run the plan yourself to be sure."

// WriteText prints a finding for people. name is the file's.
func (f *Finding) WriteText(w io.Writer, name string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", clean.Line(name), f.Verdict)
	if f.Why != "" {
		layout.Sentence(&b, "  ", f.Why)
	}
	for i := range f.Runs {
		f.Runs[i].write(&b)
	}
	if f.Verdict != Invalid {
		b.WriteByte('\n')
		layout.Sentence(&b, "", proof)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// write prints a run and its changes.
func (r *RunFinding) write(b *strings.Builder) {
	by := "an unknown version"
	if r.Version != "" {
		by = "plimsoll " + r.Version
	}
	fmt.Fprintf(b, "\nrun %s: %s\n", clean.Line(r.ID), r.Verdict)
	fmt.Fprintf(b, "  plan %s, seed %d, by %s\n", clean.Line(r.Plan), r.Seed, clean.Line(by))
	fmt.Fprintf(b, "  %s in %s: %d failed, %s skipped\n", size.Plural(r.Trials, "trial"), size.Plural(r.Blocks, "block"), r.Failed, size.Plural(r.Skipped, "cell"))
	if len(r.Changes) == 0 {
		b.WriteString("  The plan is the built-in one, unchanged.\n")
		return
	}
	b.WriteString("  Differences from a complete run of the built-in plan:\n")
	for _, c := range r.Changes {
		layout.Sentence(b, "    ", c.String())
	}
}
