package compare

import (
	"fmt"
	"io"
	"math"
	"strings"

	"plimsoll/internal/measure/report"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

// WriteText prints a comparison for people: what differs between the runs, what changed, and what could be hidden.
func (c *Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, s := range []struct {
		name string
		Side
	}{{"before", c.Before}, {"after ", c.After}} {
		fmt.Fprintf(&b, "%s  run %s, plan %s, %s, %s\n", s.name, clean.Line(s.ID), clean.Line(s.Plan), s.Started, size.Plural(s.Blocks, "block"))
	}
	if len(c.Differences) == 0 {
		b.WriteString("\nNothing is known to differ between the machines and places of the two runs.\n")
	} else {
		b.WriteString("\nWhat differs (before / after)\n")
		for _, d := range c.Differences {
			layout.Sentence(&b, "  ", d)
		}
	}
	b.WriteString("\nWhat changed, each cell by its ratio to its own run's baseline\n")
	t := layout.Table{Head: []string{"cell", "before", "after", "change", "95 % interval", "absolute", "verdict"}, Right: []int{1, 2, 3, 4, 5}}
	for _, ch := range c.Changes {
		t.Add(ch.Workload+", "+ch.Label, num(ch.Before), num(ch.After), num(ch.Ratio), interval(ch), num(ch.Absolute), ch.verdict(c.Margin))
	}
	t.Write(&b)
	b.WriteByte('\n')
	layout.Sentence(&b, "", c.sum())
	if len(c.Left) > 0 {
		layout.Sentence(&b, "", "In one of the runs only: "+strings.Join(c.Left, ", ")+".")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func num(n report.Num) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n))
}

func interval(ch Change) string {
	if !ch.Low.Known() {
		return "-"
	}
	return fmt.Sprintf("%.2f-%.2f", float64(ch.Low), float64(ch.High))
}

// verdict is a change in words.
func (ch Change) verdict(margin float64) string {
	doubt := ""
	if ch.Doubt {
		doubt = ", in doubt"
	}
	switch ch.Kind {
	case report.Base:
		return "baseline"
	case report.Missing:
		return "no ratio in one of the runs"
	case report.Slower:
		return fmt.Sprintf("slower by %.0f-%.0f %%%s", math.Floor(100*(1-float64(ch.High))), math.Ceil(100*(1-float64(ch.Low))), doubt)
	case report.Faster:
		return fmt.Sprintf("faster by %.0f-%.0f %%%s", math.Floor(100*(float64(ch.Low)-1)), math.Ceil(100*(float64(ch.High)-1)), doubt)
	case report.Equivalent:
		return fmt.Sprintf("the same within %.3g %%%s", 100*margin, doubt)
	}
	if !ch.Low.Known() {
		return "too few blocks to say"
	}
	if ch.Low <= 0.5 {
		return fmt.Sprintf("not measurably different: %.1f times slower at most%s", math.Ceil(10/float64(ch.Low))/10, doubt)
	}
	return fmt.Sprintf("not measurably different: slower by %.0f %% at most%s", math.Ceil(100*max(0, 1-float64(ch.Low))), doubt)
}

// sum counts the verdicts.
func (c *Comparison) sum() string {
	n := map[report.Kind]int{}
	for _, ch := range c.Changes {
		n[ch.Kind]++
	}
	compared := len(c.Changes) - n[report.Base] - n[report.Missing]
	return fmt.Sprintf("Of %s, %d became slower, %d faster, %d stayed the same within %.3g %%; %d are not measurably different. \"absolute\" compares the rates themselves, on one machine: it has no verdict, because another hour may be the reason.",
		size.Plural(compared, "cell"), n[report.Slower], n[report.Faster], n[report.Equivalent], 100*c.Margin, n[report.Inconclusive])
}
