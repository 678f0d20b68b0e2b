package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/text/size"
)

// rank gives every place its overall cost: the geometric mean of the ratios over the workloads in which every place has a
// ratio without doubt. Means over different workloads would favour a place for work that it wasn't given. A place without
// any such ratio has no overall cost, nor does a place that is less safe than it promises; neither affects the others. If
// no workload is left, no place has one. Whether the costs put the places in an order depends on their intervals: see
// order.
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

// addOverall takes the means over the ranked workloads. The ratios' intervals hold simultaneously, so those of their means
// do, too.
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
			// Too few blocks: there are no bounds.
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

// An Order says how much of the order of places is proved.
type Order string

// The orders.
const (
	// NoOrder: no two places of an engine are proved to differ. The list follows the plan.
	NoOrder Order = "none"
	// PartOrder: some places are proved to differ. Adjacent ones may not.
	PartOrder Order = "part"
	// FullOrder: each place is proved cheaper than the next one.
	FullOrder Order = "full"
)

// order compares the overall intervals of the places of each engine under the same limits: two that don't overlap are proof.
// Places in memory stand last whatever they cost, and the baseline first.
func (r *Report) order() Order {
	apart, open := false, false
	for i := range r.Answers {
		for j := range i {
			a, b := &r.Answers[i], &r.Answers[j]
			if a.Engine != b.Engine || a.limits != b.limits || !a.ordered() || !b.ordered() {
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

// ordered reports whether an answer's position in the list comes from its overall cost.
func (a *Answer) ordered() bool {
	apart := slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.Kind == Base || x.LimitsCost })
	return a.Overall.Known() && !a.Memory && !apart
}

// severalPlaces reports whether an engine has places under the same limits that could be put in an order.
func (r *Report) severalPlaces() bool {
	seen := map[[2]string]bool{}
	for i := range r.Answers {
		if a := &r.Answers[i]; a.ordered() {
			if seen[[2]string{a.Engine, a.limits}] {
				return true
			}
			seen[[2]string{a.Engine, a.limits}] = true
		}
	}
	return false
}

// cheaper compares two places of an engine by their overall costs, if both are ordered.
func (r *Report) cheaper(a, b Answer) int {
	if r.Order == NoOrder {
		return 0
	}
	return -cmp.Compare(float64(a.Overall), float64(b.Overall))
}

// sound reports whether a ratio may count for an order.
func (x Ratio) sound() bool { return x.Ratio.Known() && x.Ratio > 0 && !x.Doubt }

// comparedText says what the places are compared with, and how they are ordered.
func (r *Report) comparedText() string {
	s := fmt.Sprintf("Compared with %s over %s", r.againstText(), size.Plural(len(r.Workloads), "workload")) + r.orderText() + "."
	if cost := r.limitsCostText(); cost != "" {
		s += " " + cost
	}
	return s
}

// orderText says how the places are ordered, to follow what they are compared with.
func (r *Report) orderText() string {
	if len(r.Ranked) == 0 {
		return ", in no order: no workload has figures without doubt for all places"
	}
	by := ""
	if len(r.Ranked) < len(r.Workloads) {
		by = fmt.Sprintf(" (by %s, which all places have without doubt)", rankedNames(r.Ranked))
	}
	switch {
	case r.Order == FullOrder:
		return ", the cheapest place first" + by
	case r.Order == PartOrder:
		return ", the cheapest place first where intervals don't overlap" + by
	case !r.severalPlaces():
		return ""
	}
	return ", in no order: the figures don't prove a difference between places of an engine" + by
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
