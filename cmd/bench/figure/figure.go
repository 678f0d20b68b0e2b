// Package figure prints what a benchmark measured: each figure's median over all rounds, beside a peer's in the same
// rounds and beside its goal. A ratio is taken within each round and its median printed, not the ratio of
// the medians: what slows one round then slows both programs.
package figure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"plimsoll/internal/text/goal"
)

// A Figure is one line of a table.
type Figure struct {
	Name string
	// Ours are the values of all rounds, and Peer those of what they are compared with, round by round; empty: none.
	Ours, Peer []float64
	// Unit prints a value; nil: as a whole number.
	Unit func(float64) string
	// Goal is what is aimed at; zero: nothing.
	Goal Goal
	// Unjudged says that this run was too small for the goal, which is printed all the same.
	Unjudged bool
	// Note is what else a reader needs.
	Note string
	// Failed is why there is no value, which misses the goal. Skipped is why this machine can have none, which doesn't.
	Failed, Skipped string
}

// A Goal bounds the median of Plimsoll's values, or that of the ratios to the peer's.
type Goal struct {
	// Op is AtMost, AtLeast or Near.
	Op    string
	Value float64
	// Off is how far a value may be from one that it shall be Near to.
	Off float64
	// Ratio says that it is about the ratio. There is no result without a peer.
	Ratio bool
}

// The kinds of goals.
const (
	AtMost  = "<="
	AtLeast = ">="
	Near    = "+-"
)

// met reports whether a median is as aimed at.
func (g Goal) met(v float64) bool {
	switch g.Op {
	case AtMost:
		return v <= g.Value
	case AtLeast:
		return v >= g.Value
	}
	return v >= g.Value-g.Off && v <= g.Value+g.Off
}

// words prints the goal.
func (g Goal) words(unit func(float64) string) string {
	switch {
	case g.Op == "":
		return ""
	case g.Op == Near:
		return fmt.Sprintf("%g +- %g", g.Value, g.Off)
	case g.Ratio:
		return fmt.Sprintf("%s %g", g.Op, g.Value)
	}
	return g.Op + " " + unit(g.Value)
}

// heads are the columns: one that is empty in all lines of a table is left out.
var heads = []string{"plimsoll", "", "ratio", "min..max", "goal", "result", "note"}

// The indexes of heads.
const (
	ours = iota
	peer
	ratio
	spread
	aim
	result
	note
)

// Table prints figures under a title; peers is the head of the column of what they are compared with. It returns how
// many of the goals were missed.
func Table(out io.Writer, title, peers string, all []Figure) (missed int, err error) {
	lines := [][]string{append([]string{title}, heads...)}
	lines[0][1+peer] = peers
	wide := make([]int, len(heads)+1)
	for _, f := range all {
		line := append([]string{f.Name}, f.cells()...)
		for n, cell := range line {
			wide[n] = max(wide[n], utf8.RuneCountInString(cell))
			if cell == goal.Verdict(false) {
				missed++
			}
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		text := ""
		for n, cell := range line {
			if wide[n] > 0 {
				text += fmt.Sprintf("%-*s  ", max(wide[n], len(lines[0][n])), cell)
			}
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(text, " ")); err != nil {
			return missed, err
		}
	}
	return missed, nil
}

// cells are the columns of a figure after its name.
func (f Figure) cells() []string {
	cells := make([]string, len(heads))
	if f.Skipped != "" {
		cells[note] = "skipped: " + f.Skipped
		return cells
	}
	unit := f.Unit
	if unit == nil {
		unit = Whole
	}
	cells[aim], cells[note] = f.Goal.words(unit), f.Note
	if f.Failed != "" {
		cells[result], cells[note] = goal.Verdict(false), f.Failed
		return cells
	}
	judged, print := f.Ours, unit
	cells[ours] = unit(Median(f.Ours))
	if len(f.Peer) > 0 {
		cells[peer] = unit(Median(f.Peer))
		// A goal for the value itself leaves the peer's beside it, and no ratio.
		if f.Goal.Ratio || f.Goal.Op == "" {
			judged, print = f.ratios(), Share
			cells[ratio] = Share(Median(judged))
		}
	}
	if len(judged) > 1 {
		cells[spread] = print(slices.Min(judged)) + " .. " + print(slices.Max(judged))
	}
	switch {
	case f.Goal.Op == "" || f.Goal.Ratio && len(f.Peer) == 0:
	case f.Unjudged:
		cells[result] = "-"
	default:
		cells[result] = goal.Verdict(f.Goal.met(Median(judged)))
	}
	return cells
}

// ratios are those within each round.
func (f Figure) ratios() []float64 {
	r := make([]float64, len(f.Ours))
	for i := range r {
		r[i] = f.Ours[i] / f.Peer[i]
	}
	return r
}

// Median is the one of a list that isn't empty.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Times are durations as values, in nanoseconds.
func Times(all []time.Duration) []float64 {
	v := make([]float64, len(all))
	for i, d := range all {
		v[i] = float64(d)
	}
	return v
}

// Whole, Share, Milliseconds, Seconds and MiB are units; of values that are a number, a share, nanoseconds (both times) and bytes.
func Whole(v float64) string        { return fmt.Sprintf("%.0f", v) }
func Share(v float64) string        { return fmt.Sprintf("%.3f", v) }
func Milliseconds(v float64) string { return fmt.Sprintf("%.1f ms", v/1e6) }
func Seconds(v float64) string      { return fmt.Sprintf("%.2f s", v/1e9) }
func MiB(v float64) string          { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }
