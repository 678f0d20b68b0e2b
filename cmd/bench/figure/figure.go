// Package figure prints the results of a benchmark: each figure's median over all rounds, beside that of a peer in the
// same rounds and beside its goal. The ratio is taken within each round, and the median of these ratios is printed, not
// the ratio of the medians: whatever slows a round slows both programs.
package figure

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"plimsoll/internal/text/threshold"
)

// A Figure is one line of a table.
type Figure struct {
	Name string
	// Ours are the values of all rounds. Peer are those of the program compared with, round by round; empty: none.
	Ours, Peer []float64
	// Unit formats a value; nil: as a whole number.
	Unit func(float64) string
	// Goal is the goal; zero: none.
	Goal Goal
	// Unjudged says that this run was too small for the goal, which is printed nevertheless.
	Unjudged bool
	// Note is further information for the reader.
	Note string
	// Failed says why there is no value, which misses the goal. Skipped says why this machine can't have one, which
	// does not.
	Failed, Skipped string
}

// A Goal bounds the median of Plimsoll's values, or of their ratios to the peer's.
type Goal struct {
	// Op is AtMost, AtLeast or Near.
	Op    string
	Value float64
	// Off is how far a value may be from the goal if Op is Near.
	Off float64
	// Ratio says that the goal is about the ratio. Without a peer there is no result.
	Ratio bool
}

// The kinds of goals.
const (
	AtMost  = "<="
	AtLeast = ">="
	Near    = "+-"
)

// met reports whether a median meets the goal.
func (g Goal) met(v float64) bool {
	switch g.Op {
	case AtMost:
		return v <= g.Value
	case AtLeast:
		return v >= g.Value
	}
	return v >= g.Value-g.Off && v <= g.Value+g.Off
}

// words formats the goal.
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

// heads are the columns; a column that is empty in all lines of a table is omitted.
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

// Table prints figures under a title; peers is the head of the peers' column. It returns the number of missed goals.
func Table(out io.Writer, title, peers string, all []Figure) (missed int, err error) {
	lines := [][]string{append([]string{title}, heads...)}
	lines[0][1+peer] = peers
	wide := make([]int, len(heads)+1)
	for _, f := range all {
		line := append([]string{f.Name}, f.cells()...)
		for n, cell := range line {
			wide[n] = max(wide[n], utf8.RuneCountInString(cell))
			if cell == threshold.Verdict(false) {
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

// cells returns the columns of a figure after its name.
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
		cells[result], cells[note] = threshold.Verdict(false), f.Failed
		return cells
	}
	judged, print := f.Ours, unit
	cells[ours] = unit(Median(f.Ours))
	if len(f.Peer) > 0 {
		cells[peer] = unit(Median(f.Peer))
		// With a goal for the value itself, the peer's value is shown, but no ratio.
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
		cells[result] = threshold.Verdict(f.Goal.met(Median(judged)))
	}
	return cells
}

// ratios returns the ratios within each round.
func (f Figure) ratios() []float64 {
	r := make([]float64, len(f.Ours))
	for i := range r {
		r[i] = f.Ours[i] / f.Peer[i]
	}
	return r
}

// Median returns the median of a list, which must not be empty.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Times converts durations to values, in nanoseconds.
func Times(all []time.Duration) []float64 {
	v := make([]float64, len(all))
	for i, d := range all {
		v[i] = float64(d)
	}
	return v
}

// Whole, Share, Milliseconds, Seconds and MiB format values: a number, a share, nanoseconds (both times) and bytes.
func Whole(v float64) string        { return fmt.Sprintf("%.0f", v) }
func Share(v float64) string        { return fmt.Sprintf("%.3f", v) }
func Milliseconds(v float64) string { return fmt.Sprintf("%.1f ms", v/1e6) }
func Seconds(v float64) string      { return fmt.Sprintf("%.2f s", v/1e9) }
func MiB(v float64) string          { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }
