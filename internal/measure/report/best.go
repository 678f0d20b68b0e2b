package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// vague is a ratio that says nothing: who knows only that a place may be at most twice as slow does not know whether it is good.
const vague = 0.5

// A choice is the best place of a scene, as far as it is proven.
type choice struct {
	// text is the choice. Scenes with the same text are one line.
	text string
	// low is the lowest ratio that the intervals leave possible for places of which it is not proven that they are slower;
	// 0 if all of them are proven equal, or slower.
	low Num
}

// choice answers which place is best. A place is named if it is proven faster than the baseline. The baseline is named if all
// others are proven slower. Otherwise every place is as good as it is known to be, but for those that are proven slower.
// Memory and places that are less safe than they promise are no place for data that must stay.
func (s *scene) choice(margin float64) choice {
	var faster, slower, stalls, failed, rest, unproven []*Cell
	for _, c := range s.others {
		switch {
		case c.N > 0 && c.caution() != "":
		case c.N == 0:
			failed = append(failed, c)
		case c.stalls():
			stalls = append(stalls, c)
		case !c.proven(), c.Kind == Inconclusive && c.Compared.Low < vague:
			unproven = append(unproven, c)
		case c.Kind == Faster:
			faster = append(faster, c)
		case c.Kind == Slower:
			slower = append(slower, c)
		default:
			rest = append(rest, c)
		}
	}
	switch {
	case len(faster) > 0:
		return choice{text: described(near(faster), " or ")}
	case len(rest)+len(unproven) > 0:
		return s.any(margin, append(wheres(slower, ""), append(wheres(stalls, " (stalls)"), wheres(failed, " (failed)")...)...), rest, unproven)
	case len(slower) > 0:
		text := s.base.where() + "; every other place that keeps data is slower"
		if len(stalls) > 0 {
			text += " or stalls"
		}
		if len(failed) > 0 {
			text += " or failed"
		}
		return choice{text: text + leastOf(slower)}
	}
	return choice{}
}

// leastOf names the cells that are proven less slow than some of the others; empty if none is.
func leastOf(slower []*Cell) string {
	if near := near(slower); len(near) < len(slower) {
		return ", least " + described(near, " and ")
	}
	return ""
}

// any is the choice where no place is proven faster and some are not proven slower. bad names the places that are out of the question.
func (s *scene) any(margin float64, bad []string, rest, unproven []*Cell) choice {
	if len(rest) == 0 {
		return choice{} // Nothing is known: all that remains is in doubt.
	}
	for _, c := range unproven {
		why := " (not proven)"
		switch {
		case c.proven():
			why = " (not known)"
		case c.Doubt || c.own != nil && c.own.Doubt:
			why = " (in doubt)"
		}
		bad = append(bad, c.where()+why)
	}
	text, equal, open := "any place; ", "all are", "none is"
	if len(bad) > 0 {
		text, equal, open = "any place but "+listed(bad)+"; ", "the others are", "the others are not"
	}
	if !slices.ContainsFunc(rest, func(c *Cell) bool { return c.Kind != Equivalent }) {
		return choice{text: text + fmt.Sprintf("%s equal to %s within %.3g %%", equal, s.base.where(), 100*margin)}
	}
	low := slices.MinFunc(rest, func(a, b *Cell) int { return cmp.Compare(a.Compared.Low, b.Compared.Low) }).Compared.Low
	return choice{text: text + open + " measurably slower", low: low}
}

// near are the cell with the greatest ratio, and those whose intervals don't tell them from it.
func near(cells []*Cell) []*Cell {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b *Cell) int { return -cmp.Compare(a.Compared.Ratio, b.Compared.Ratio) })
	least := cells[0].Compared.Low
	return slices.DeleteFunc(cells, func(c *Cell) bool { return c.Compared.High < least })
}

// described names cells with their intervals.
func described(cells []*Cell, join string) string {
	var parts []string
	for _, c := range cells {
		parts = append(parts, c.where()+" ("+span{c.Compared.Low, c.Compared.High}.text()+")")
	}
	return strings.Join(parts, join)
}

// bestLines are a line for each choice, with the scenes that it holds for.
func (r *Report) bestLines(scenes []*scene) []string {
	var choices []choice
	var at [][]*scene
	n := 0
	for _, s := range scenes {
		c := s.choice(r.Run.Margin)
		if c.text == "" {
			continue
		}
		n++
		i := slices.IndexFunc(choices, func(o choice) bool { return o.text == c.text })
		if i < 0 {
			i, choices, at = len(choices), append(choices, c), append(at, nil)
		}
		choices[i].low, at[i] = min(choices[i].low, c.low), append(at[i], s)
	}
	var out []string
	for i, c := range choices {
		line := sceneNames(at[i], n) + ": " + c.text
		if c.low > 0 {
			line += fmt.Sprintf(" (%s at most)", slowerAtMost(c.low))
		}
		out = append(out, line)
	}
	return out
}

// sceneNames names scenes with their everyday words, or says that they are all.
func sceneNames(scenes []*scene, of int) string {
	if len(scenes) == of && of > 2 {
		return "everything"
	}
	var names []string
	for _, s := range scenes {
		name := s.name
		if s.words != "" {
			name += " (" + s.words + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// wheres names cells, each with a remark behind it.
func wheres(cells []*Cell, remark string) (out []string) {
	for _, c := range cells {
		out = append(out, c.where()+remark)
	}
	return out
}

// listed joins names: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
