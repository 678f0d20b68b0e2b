package report

import (
	"fmt"
	"math"
	"plimsoll/internal/size"
	"slices"
)

// rank gives every place its overall cost: the geometric mean of the ratios over the workloads
// in which every place has one that is not in doubt. Means over different workloads would put a
// place ahead for what it was not asked to do. A place without any such ratio has no overall cost, and
// stands in nobody's way; where no workload is left, there is no order at all.
func (r *Report) rank() {
	r.Ranked = nil
	ranked := slices.DeleteFunc(slices.Clone(r.Answers), func(a Answer) bool { return !slices.ContainsFunc(a.Ratios, Ratio.sound) })
	for i, w := range r.Workloads {
		if len(ranked) > 0 && !slices.ContainsFunc(ranked, func(a Answer) bool { return !a.Ratios[i].sound() }) {
			r.Ranked = append(r.Ranked, w.Name)
		}
	}
	for i := range r.Answers {
		a := &r.Answers[i]
		a.Overall = Unknown
		sum, n := 0.0, 0
		for _, x := range a.Ratios {
			if x.sound() && slices.Contains(r.Ranked, x.Workload) {
				sum += math.Log(float64(x.Ratio))
				n++
			}
		}
		if n > 0 {
			a.Overall = Num(math.Exp(sum / float64(n)))
		}
	}
}

// sound reports whether a ratio may count for an order.
func (x Ratio) sound() bool { return x.Ratio.Known() && x.Ratio > 0 && !x.Doubt }

// comparedText says with what the places are compared and how they are put in order.
func (r *Report) comparedText() string {
	s := fmt.Sprintf("Compared with %s over %s, ", r.Against, size.Plural(len(r.Workloads), "workload"))
	if r.severalClients() {
		s = fmt.Sprintf("Compared with %s with as many clients over %s, ", r.Against, size.Plural(len(r.Workloads), "workload"))
	}
	switch n := len(r.Ranked); {
	case n == 0:
		return s + "in no order: no workload has figures without doubt for all places."
	case n < len(r.Workloads):
		return s + fmt.Sprintf("the cheapest place first (by %s, which all places have without doubt).", rankedNames(r.Ranked))
	}
	return s + "the cheapest place first."
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
