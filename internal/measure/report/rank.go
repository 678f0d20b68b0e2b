package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/text/size"
)

// rank gives every place its overall cost: the geometric mean of the ratios over the workloads
// in which every place has one that is not in doubt. Means over different workloads would put a
// place ahead for what it was not asked to do. A place without any such ratio has no overall cost, nor has one
// that is less safe than it promises; neither stands in the way of others. Where no workload is left, no place has one. Whether these figures put the places in an
// order is a matter of their intervals: see order.
func (r *Report) rank() {
	r.Ranked = nil
	ranked := slices.DeleteFunc(slices.Clone(r.Answers), func(a Answer) bool { return len(a.Unsafe) > 0 || !slices.ContainsFunc(a.Ratios, Ratio.sound) })
	for i, w := range r.Workloads {
		if len(ranked) > 0 && !slices.ContainsFunc(ranked, func(a Answer) bool { return !a.Ratios[i].sound() }) {
			r.Ranked = append(r.Ranked, w.Name)
		}
	}
	for i := range r.Answers {
		r.Answers[i].addOverall(r.Ranked)
	}
	r.Order = r.order()
}

// addOverall takes the means over some workloads. The ratios' intervals hold together, so that those of their
// means do, too.
func (a *Answer) addOverall(ranked []string) {
	a.Overall, a.OverallLow, a.OverallHigh = Unknown, Unknown, Unknown
	if len(a.Unsafe) > 0 {
		return
	}
	var ratio, low, high float64
	n := 0
	for _, x := range a.Ratios {
		if !x.sound() || !slices.Contains(ranked, x.Workload) {
			continue
		}
		n++
		ratio += math.Log(float64(x.Ratio))
		if x.Tentative || !x.Low.Known() || !x.High.Known() || x.Low <= 0 {
			// Too few blocks: it bounds nothing.
			low, high = math.Inf(-1), math.Inf(1)
			continue
		}
		low, high = low+math.Log(float64(x.Low)), high+math.Log(float64(x.High))
	}
	if n == 0 {
		return
	}
	mean := func(sum float64) Num { return Num(math.Exp(sum / float64(n))) }
	a.Overall = mean(ratio)
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) {
		a.OverallLow, a.OverallHigh = mean(low), mean(high)
	}
}

// An Order says what the order of places shows.
type Order string

// The orders.
const (
	// NoOrder: no two places of an engine are proved to differ, so that the list follows the plan.
	NoOrder Order = "none"
	// PartOrder: some are. Places that stand next to each other need not differ.
	PartOrder Order = "part"
	// FullOrder: each place is proved cheaper than the next one.
	FullOrder Order = "full"
)

// order looks for evidence: two places of one engine whose overall figures have intervals that don't overlap. What
// is in memory stands last whatever it costs, and the baseline first.
func (r *Report) order() Order {
	apart, open := false, false
	for i := range r.Answers {
		for j := range i {
			a, b := &r.Answers[i], &r.Answers[j]
			if a.Engine != b.Engine || !a.ordered() || !b.ordered() {
				continue
			}
			if a.OverallLow.Known() && b.OverallLow.Known() && (a.OverallLow > b.OverallHigh || b.OverallLow > a.OverallHigh) {
				apart = true
			} else {
				open = true
			}
		}
	}
	switch {
	case !apart:
		return NoOrder
	case open:
		return PartOrder
	}
	return FullOrder
}

// ordered reports whether an answer's overall figure gives it its place in the list.
func (a *Answer) ordered() bool {
	base := slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.Kind == Base })
	return a.Overall.Known() && !a.Memory && !base
}

// severalPlaces reports whether an engine has places that could be put in an order.
func (r *Report) severalPlaces() bool {
	seen := map[string]bool{}
	for i := range r.Answers {
		if a := &r.Answers[i]; a.ordered() {
			if seen[a.Engine] {
				return true
			}
			seen[a.Engine] = true
		}
	}
	return false
}

// cheaper compares two places of an engine by their overall figures, where these are in an order.
func (r *Report) cheaper(a, b Answer) int {
	if r.Order == NoOrder {
		return 0
	}
	return -cmp.Compare(float64(a.Overall), float64(b.Overall))
}

// sound reports whether a ratio may count for an order.
func (x Ratio) sound() bool { return x.Ratio.Known() && x.Ratio > 0 && !x.Doubt }

// comparedText says with what the places are compared and how they are put in order.
func (r *Report) comparedText() string {
	s := fmt.Sprintf("Compared with %s over %s, ", r.Against, size.Plural(len(r.Workloads), "workload"))
	if r.severalClients() {
		s = fmt.Sprintf("Compared with %s with as many clients over %s, ", r.Against, size.Plural(len(r.Workloads), "workload"))
	}
	if len(r.Ranked) == 0 {
		return s + "in no order: no workload has figures without doubt for all places."
	}
	by := ""
	if len(r.Ranked) < len(r.Workloads) {
		by = fmt.Sprintf(" (by %s, which all places have without doubt)", rankedNames(r.Ranked))
	}
	switch r.Order {
	case FullOrder:
		return s + "the cheapest place first" + by + "."
	case PartOrder:
		return s + "the cheapest place first as far as their intervals are apart" + by + "."
	}
	if !r.severalPlaces() {
		return strings.TrimSuffix(s, ", ") + "."
	}
	return s + "in no order: the figures don't tell the places of an engine apart" + by + "."
}

func rankedNames(names []string) string {
	if len(names) > 4 {
		return size.Plural(len(names), "workload")
	}
	s := names[0]
	for i, n := range names[1:] {
		if i == len(names)-2 {
			s += " and " + n
		} else {
			s += ", " + n
		}
	}
	return s
}

// severalClients reports whether cells were run with different numbers of clients.
func (r *Report) severalClients() bool {
	first := 0
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			if first == 0 {
				first = c.Clients
			}
			if c.Clients != first {
				return true
			}
		}
	}
	return false
}

// overallText says what the overall figures are; empty if there are none.
func (r *Report) overallText() string {
	switch n := len(r.Ranked); {
	case n == 0:
		return ""
	case n < len(r.Workloads):
		return "overall: the geometric mean at " + rankedNames(r.Ranked)
	}
	return "overall: the geometric mean of all"
}
