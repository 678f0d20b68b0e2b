package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A loss is where a place is slower than the baseline: in which scenes, and by how much.
type loss struct {
	places []string
	scenes []string
	spans  []span
	// of is the number of scenes in which the place has a ratio.
	of     int
	proven bool
}

// losses returns the places that are slower somewhere, the worst first. Places that are slower in the same scenes are one
// loss. What is not proven, or in doubt, comes last.
func (r *Report) losses(scenes []*scene) []*loss {
	type key struct {
		where  string
		proven bool
	}
	at := map[key]*loss{}
	var all []*loss
	of := map[string]int{}
	for _, s := range scenes {
		for _, c := range s.others {
			if c.Compared == nil {
				continue
			}
			of[c.where()]++
			if c.Kind != Slower || !c.Compared.High.Known() {
				continue
			}
			k := key{c.where(), c.proven()}
			l := at[k]
			if l == nil {
				l = &loss{places: []string{k.where}, proven: k.proven}
				at[k] = l
				all = append(all, l)
			}
			l.scenes, l.spans = append(l.scenes, s.name), append(l.spans, span{c.Compared.Low, c.Compared.High})
		}
	}
	var out []*loss
	for _, l := range all {
		l.of = of[l.places[0]]
		if i := slices.IndexFunc(out, l.like); i >= 0 {
			out[i].add(l)
			continue
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b *loss) int {
		return cmp.Or(-cmp.Compare(bit(a.proven), bit(b.proven)), cmp.Compare(a.spans[a.worst()].low, b.spans[b.worst()].low))
	})
	return out
}

// like reports whether another place is slower in the same scenes, and not measurably more or less.
func (l *loss) like(o *loss) bool {
	same := l.proven == o.proven && l.of == o.of && slices.Equal(l.scenes, o.scenes)
	return same && slices.EqualFunc(l.spans, o.spans, span.overlaps)
}

// add merges another place into the loss.
func (l *loss) add(o *loss) {
	l.places = append(l.places, o.places...)
	for i := range l.spans {
		l.spans[i] = l.spans[i].with(o.spans[i])
	}
}

// worst is the index of the scene in which the place is slowest.
func (l *loss) worst() int {
	i := 0
	for j, s := range l.spans {
		if s.low < l.spans[i].low {
			i = j
		}
	}
	return i
}

// mostNamed is how many scenes a loss names.
const mostNamed = 3

// text describes the loss: "oci layer and docker layer for append (slower by 32-39 %)".
func (l *loss) text() string {
	s := listed(l.places)
	if !l.proven {
		s = "perhaps " + s
	}
	worst := l.worst()
	at := fmt.Sprintf("%s (%s)", l.scenes[worst], l.spans[worst].text())
	switch n := len(l.scenes); {
	case n > mostNamed && n == l.of:
		return s + " everywhere, most for " + at
	case n > mostNamed:
		return fmt.Sprintf("%s in %d of %d comparisons, most for %s", s, n, l.of, at)
	}
	order := make([]int, len(l.scenes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(l.spans[a].low, l.spans[b].low) })
	var parts []string
	for k, i := range order {
		part, by := l.scenes[i], l.spans[i].text()
		// Scenes with the same interval have it once, behind the last.
		if k+1 == len(order) || l.spans[order[k+1]].text() != by {
			part += " (" + by + ")"
		}
		parts = append(parts, part)
	}
	return s + " for " + strings.Join(parts, ", ")
}
