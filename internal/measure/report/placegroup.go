package report

import (
	"slices"
	"strings"
)

// A PlaceGroup is places about which a report says the same. A plan with several sets of limits has each place once for each
// of them, and 24 sentences that differ in a few figures are read by nobody.
type PlaceGroup struct {
	// Name names the places: "oci bind", "docker volume (no limits; iops; cpu)".
	Name string
	// Text is the sentence about them. Its intervals hold for each of the places.
	Text string
}

// groupPlaces puts the answers with the same verdicts together.
func (r *Report) groupPlaces(tellDoubts bool) {
	var groups [][]*Answer
next:
	for i := range r.Answers {
		a := &r.Answers[i]
		for j, g := range groups {
			if g[0].saysLike(a) {
				groups[j] = append(g, a)
				continue next
			}
		}
		groups = append(groups, []*Answer{a})
	}
	for _, g := range groups {
		r.Places = append(r.Places, PlaceGroup{Name: groupName(g), Text: r.groupText(g, tellDoubts)})
	}
}

// saysLike reports whether the sentence about another place differs in figures and in the folder of the data only.
func (a *Answer) saysLike(b *Answer) bool {
	if a.skipped() || b.skipped() {
		return a.skipped() && b.skipped() && a.Text == b.Text
	}
	if a.caution() != b.caution() || a.memoryWhy != b.memoryWhy || unfitText(a.Unfit) != unfitText(b.Unfit) {
		return false
	}
	return slices.Equal(a.Unsafe, b.Unsafe) && slices.EqualFunc(a.Ratios, b.Ratios, Ratio.saysLike)
}

// saysLike reports whether two ratios of a workload differ in their figures only, and not measurably. The figures of a
// baseline, and of what is not compared, are their own.
func (x Ratio) saysLike(y Ratio) bool {
	if x.Kind == Base || x.Kind == Missing {
		return false
	}
	if x.Low.Known() && !(span{x.Low, x.High}).overlaps(span{y.Low, y.High}) {
		return false
	}
	x.verdict, y.verdict = failedPart(x.verdict), failedPart(y.verdict)
	x.Ratio, x.Low, x.High, y.Ratio, y.Low, y.High = 0, 0, 0, 0, 0, 0
	return x == y
}

// groupText is the sentence about a group: that of its only place, or one with intervals that hold for all.
func (r *Report) groupText(g []*Answer, tellDoubts bool) string {
	if len(g) == 1 || g[0].skipped() {
		return g[0].Text
	}
	all := *g[0]
	all.Ratios = slices.Clone(all.Ratios)
	for _, a := range g[1:] {
		for i := range all.Ratios {
			all.Ratios[i] = all.Ratios[i].with(a.Ratios[i])
		}
	}
	all.On = stands(g)
	all.finish(r, tellDoubts)
	return all.Text
}

// with returns a ratio whose interval holds both.
func (x Ratio) with(y Ratio) Ratio {
	s := span{x.Low, x.High}.with(span{y.Low, y.High})
	if x.Ratio = min(x.Ratio, y.Ratio); x.Kind == Faster {
		x.Ratio = max(x.Ratio, y.Ratio)
	}
	x.Low, x.High = s.low, s.high
	if x.Kind == Slower || x.Kind == Faster {
		looks := ""
		if x.Tentative {
			looks = "looks "
		}
		x.verdict = looks + s.text() + failedPart(x.verdict)
	}
	return x
}

// failedPart is the end of a verdict that counts failed trials.
func failedPart(verdict string) string {
	if i := strings.IndexByte(verdict, ';'); i >= 0 {
		return verdict[i:]
	}
	return ""
}

// stands lists what the data of the places stood on.
func stands(g []*Answer) string {
	var ons []string
	for _, a := range g {
		if a.On != "" && !slices.Contains(ons, a.On) {
			ons = append(ons, a.On)
		}
	}
	return strings.Join(ons, ", ")
}

// groupName names the places of a group. Those that differ in limits and clients only are one name with all of these, and
// places with the same limits share the list.
func groupName(g []*Answer) string {
	var places, lists []string
	variants := map[string][]string{}
	for _, a := range g {
		place, variant, _ := strings.Cut(strings.TrimSpace(a.Engine+" "+a.Place), ", ")
		if variants[place] == nil {
			places = append(places, place)
		}
		variants[place] = append(variants[place], variant)
	}
	by := map[string][]string{}
	for _, place := range places {
		list := strings.Join(variants[place], "; ")
		if strings.HasPrefix(list, "; ") {
			list = "no limits" + list
		}
		if by[list] == nil {
			lists = append(lists, list)
		}
		by[list] = append(by[list], place)
	}
	var names []string
	for _, list := range lists {
		switch {
		case strings.Contains(list, "; "):
			names = append(names, listed(by[list])+" ("+list+")")
		case list != "":
			names = append(names, strings.Join(by[list], ", "+list+"; ")+", "+list)
		default:
			names = append(names, listed(by[list]))
		}
	}
	return strings.Join(names, "; ")
}
