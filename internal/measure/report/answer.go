package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// answer sums up what each place of each engine costs over all workloads.
func (r *Report) answer(opt Options) {
	r.Against = r.against()
	if r.Against == "" {
		r.AgainstWhy = r.againstWhy()
	}
	type id struct{ engine, place string }
	at := map[id]int{}
	for i, w := range r.Workloads {
		for j := range w.Cells {
			c := &w.Cells[j]
			if c.Control {
				continue
			}
			key := id{c.Engine, placeLabel(c.Cell)}
			n, ok := at[key]
			if !ok {
				n = len(r.Answers)
				at[key] = n
				r.Answers = append(r.Answers, Answer{Engine: key.engine, Place: key.place, limits: limitsName(c.Limits), Ratios: r.blank(c.Cell)})
			}
			a := &r.Answers[n]
			if !ok {
				a.Unfit = unfit(r.Run.Safety, c.Cell)
			}
			a.Memory, a.memoryWhy = a.Memory || c.Disk.Memory, cmp.Or(a.memoryWhy, c.Where.InMemory)
			if c.caution() == lessSafe {
				a.Unsafe = append(a.Unsafe, w.Name)
			}
			if a.On == "" {
				a.On = standsOn(c.Where)
			}
			a.Ratios[i] = ratioOf(&w, c)
		}
	}
	r.rank()
	// If all figures are in doubt, the report says so once and not in each answer.
	n, of := r.inDoubt()
	for i := range r.Answers {
		r.Answers[i].finish(r, n < of)
	}
	r.absent(opt)
	slices.SortStableFunc(r.Answers, func(a, b Answer) int {
		return cmp.Or(
			cmp.Compare(engineOrder(a.Engine), engineOrder(b.Engine)),
			cmp.Compare(a.Engine, b.Engine),
			cmp.Compare(a.limits, b.limits),
			cmp.Compare(bit(!a.Baseline && !a.costsLimits()), bit(!b.Baseline && !b.costsLimits())),
			cmp.Compare(bit(a.caution() != ""), bit(b.caution() != "")),
			cmp.Compare(bit(!a.Overall.Known()), bit(!b.Overall.Known())),
			r.cheaper(a, b),
		)
	})
	r.groupPlaces(n < of)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// blank makes the row of a place with nothing in it but what was skipped.
func (r *Report) blank(c record.Cell) []Ratio {
	out := make([]Ratio, len(r.Workloads))
	for i, w := range r.Workloads {
		out[i] = Ratio{Workload: w.Name, Ratio: Unknown, Low: Unknown, High: Unknown, Kind: Missing}
		c.Workload = w.Name
		if slices.ContainsFunc(r.Run.Skipped, func(s record.Skip) bool { return s.Cell == c }) {
			out[i].Kind = Skipped
		}
	}
	return out
}

func ratioOf(w *Workload, c *Cell) Ratio {
	out := Ratio{Workload: w.Name, Ratio: Unknown, Low: Unknown, High: Unknown, Kind: c.Kind}
	switch {
	case c.Kind == Base:
		out.Ratio, out.Low, out.High = 1, 1, 1
	case c.Compared != nil:
		out.Ratio, out.Low, out.High, out.Tentative = c.Compared.Ratio, c.Compared.Low, c.Compared.High, c.Compared.Tentative
	}
	if !out.Ratio.Known() {
		return out
	}
	out.Doubt = c.Doubt || c.own != nil && c.own.Doubt
	out.LimitsCost = c.costsLimits()
	out.verdict, out.aside = strings.Replace(c.short(), c.aside, "", 1), c.aside
	return out
}

// finish writes the sentence. It names the place's doubts if some figures of the report have none.
func (a *Answer) finish(r *Report, tellDoubts bool) {
	by := map[Kind][]Ratio{}
	doubts, compared := 0, 0
	for _, x := range a.Ratios {
		by[x.Kind] = append(by[x.Kind], x)
		if x.Ratio.Known() {
			compared++
			doubts += bit(x.Doubt)
		}
	}
	a.Baseline = len(by[Base]) > 0
	var parts []string
	if text := a.safetyText(); text != "" {
		parts = append(parts, text)
	}
	if a.Baseline {
		parts = append(parts, "the baseline of all comparisons")
	}
	if text := unfitText(a.Unfit); text != "" {
		parts = append(parts, text)
	}
	verdicts := a.verdicts(r, by, compared)
	if a.costsLimits() && len(verdicts) > 0 {
		verdicts[0] = "compared with " + r.Against + " without limits: " + verdicts[0]
	}
	parts = append(parts, verdicts...)
	if n := len(by[Failed]); n > 0 {
		parts = append(parts, "FAILED at "+names(by[Failed], len(a.Ratios)))
	}
	if n := len(by[Skipped]); n > 0 {
		parts = append(parts, "skipped at "+names(by[Skipped], len(a.Ratios)))
	}
	if compared == 0 && len(by[Missing]) == len(a.Ratios) {
		parts = append(parts, a.uncompared(r))
	}
	if doubts > 0 && !a.Baseline && tellDoubts {
		parts = append(parts, doubtText(doubts, compared, r.Order != NoOrder && a.ordered()))
	}
	if a.Memory {
		a.On = ""
	}
	if a.On != "" {
		parts = append(parts, a.On)
	}
	a.Text = strings.Join(parts, "; ")
}

// costsLimits reports whether the ratios are what the place's limits cost.
func (a *Answer) costsLimits() bool {
	return slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.LimitsCost })
}

// uncompared is the text for a place that isn't compared. With a single workload its figures fit into the sentence.
func (a *Answer) uncompared(r *Report) string {
	if len(r.Workloads) == 1 {
		if figures := a.figures(&r.Workloads[0]); figures != "" {
			return figures + "; there is no baseline to compare with"
		}
	}
	return "measured, but there is no baseline to compare with"
}

// figures are the rate and the p99 in a workload; empty if nothing was measured there.
func (a *Answer) figures(w *Workload) string {
	c := a.cell(w)
	if c == nil {
		return ""
	}
	rate, p99 := w.figure(c)
	if l := c.of(w.Class); l != nil && l.P99.Known() {
		rate += ", p99 " + p99
	}
	return rate
}

// doubtText says how many figures of a place are in doubt. If ordered, it adds that they don't count for the order.
func doubtText(n, of int, ordered bool) string {
	if n == of {
		return "all of its figures are in doubt (!)"
	}
	s := fmt.Sprintf("%s %s in doubt (!)", size.Plural(n, "figure"), plural(n, "is", "are"))
	if ordered {
		s += " and left out of the order"
	}
	return s
}

// verdicts describes the comparisons, grouped by kind.
func (a *Answer) verdicts(r *Report, by map[Kind][]Ratio, compared int) []string {
	var parts []string
	sound := func(x Ratio) bool { return !x.Doubt }
	if n := len(by[Equivalent]); n == compared && n > 0 && !by[Equivalent][0].Tentative && slices.ContainsFunc(by[Equivalent], sound) {
		return append(parts, fmt.Sprintf("costs nothing: equivalent within %.3g %% at %s", 100*r.Run.Margin, all(n, len(a.Ratios))))
	}
	if s := by[Slower]; len(s) > 0 {
		parts = append(parts, a.extreme(Slower, s, true))
	}
	if s := by[Faster]; len(s) > 0 {
		parts = append(parts, a.extreme(Faster, s, false))
	}
	if s := by[Equivalent]; len(s) > 0 {
		looks := ""
		if s[0].Tentative || !slices.ContainsFunc(s, sound) {
			looks = "looks "
		}
		parts = append(parts, fmt.Sprintf("%sequivalent within %.3g %% at %s", looks, 100*r.Run.Margin, names(s, len(a.Ratios))))
	}
	if s := by[Inconclusive]; len(s) > 0 {
		parts = append(parts, a.open(s))
	}
	if n := len(by[Missing]); n > 0 && len(parts) > 0 {
		parts = append(parts, "not measured at "+names(by[Missing], len(a.Ratios)))
	}
	return parts
}

// standsOn names the file system, the disk and the folder under a place. A volume of a daemon is named as such, since users
// don't know its folder.
func standsOn(w record.Where) string {
	if w.FSType == "" {
		return ""
	}
	s := "data on " + w.FSType
	if w.Device != nil {
		s += " (" + w.Device.Name + ")"
	}
	switch {
	case w.Daemon != "" && strings.Contains(w.Path, "/volumes/") && strings.HasSuffix(w.Path, "/_data"):
		s += " in a volume of the daemon"
	case w.Path != "":
		s += " in " + lasting(w.Path)
	}
	return s
}

// lasting is the part of a path that still exists after the run. It leaves off the folders made for one container, by
// Plimsoll or a daemon: their names have an id of 64 digits or a number.
func lasting(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		hex := strings.Trim(p, "0123456789abcdef") == ""
		id := hex && (len(p) == 64 || i > 0 && parts[i-1] == "snapshots")
		if i > 1 && (id || strings.HasPrefix(p, "plimsoll-")) {
			return strings.Join(parts[:i], "/")
		}
	}
	return path
}

// open says what is known where neither a difference nor equivalence is proven: by how much the place may be slower, at the
// workloads where that is least and most. Without intervals it is what was seen.
func (a *Answer) open(s []Ratio) string {
	at := names(s, len(a.Ratios))
	least, most := s[0], s[0]
	for _, x := range s {
		if !x.Low.Known() || x.Low <= 0 || x.Tentative {
			return fmt.Sprintf("no difference proven at %s (seen: %s)", at, spanOf(s))
		}
		if x.Low > least.Low {
			least = x
		}
		if x.Low < most.Low {
			most = x
		}
	}
	switch low, high := slowerAtMost(least.Low), slowerAtMost(most.Low); {
	case least.Low >= 1: // It is faster, or not.
		return fmt.Sprintf("no difference proven at %s (seen: %s)", at, spanOf(s))
	case low == high:
		return fmt.Sprintf("not measurably different at %s: slower by %s at most", at, high)
	default:
		return fmt.Sprintf("not measurably different at %s: slower by %s (%s) to %s (%s) at most", at, low, least.Workload, high, most.Workload)
	}
}

// slowerAtMost is by how much a place with at least this ratio is slower, rounded up.
func slowerAtMost(low Num) string {
	if low <= 0.5 {
		return fmt.Sprintf("%.1f times", math.Ceil(10/float64(low))/10)
	}
	return fmt.Sprintf("%.0f %%", math.Ceil(100*max(0, 1-float64(low))))
}

// spanOf is the range of the ratios where nothing was proven, so that a reader sees whether a factor of 5 or a difference
// of 5 % is open.
func spanOf(s []Ratio) string {
	low, high := s[0].Ratio, s[0].Ratio
	for _, x := range s {
		low, high = min(low, x.Ratio), max(high, x.Ratio)
	}
	a, b := factor(float64(low)), factor(float64(high))
	if a == b {
		return a + " x"
	}
	return a + " to " + b + " x"
}

// factor prints a ratio with two digits after the point below 10.
func factor(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// extreme names the workloads of one kind, and the verdict of the one that differs most: "slower at 3 of 7 workloads, most
// at append (slower by 41-48 %)".
func (a *Answer) extreme(k Kind, s []Ratio, least bool) string {
	most := s[0]
	for _, x := range s {
		if (x.Ratio < most.Ratio) == least {
			most = x
		}
	}
	verdict, aside := most.verdict, most.aside
	if most.Doubt && aside == "" {
		aside = ", in doubt"
	}
	looks := ""
	if most.Tentative {
		looks = "looks "
	}
	if len(s) == 1 {
		return insert(verdict, " at "+most.Workload+aside)
	}
	at := all(len(s), len(a.Ratios))
	by := strings.Replace(strings.TrimPrefix(verdict, "looks "), string(k), "", 1)
	return fmt.Sprintf("%s%s at %s, most at %s (%s)", looks, k, at, most.Workload, insert(strings.ReplaceAll(strings.TrimSpace(by), " ; ", "; "), aside))
}

func all(n, of int) string {
	switch {
	case n == of && n == 2:
		return "both workloads"
	case n == of && n > 2:
		return fmt.Sprintf("all %d workloads", n)
	}
	return fmt.Sprintf("%d of %s", n, size.Plural(of, "workload"))
}

// names lists workloads out of all, at most four of them by name.
func names(s []Ratio, of int) string {
	if len(s) > 4 || len(s) == of && of > 1 {
		return all(len(s), of)
	}
	out := make([]string, len(s))
	for i, x := range s {
		out[i] = x.Workload
	}
	return strings.Join(out, ", ")
}
