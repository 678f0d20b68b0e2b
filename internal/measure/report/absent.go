package report

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
)

// absent adds an answer for each engine, or place of an engine, without any measured cell.
func (r *Report) absent(opt Options) {
	type id struct{ engine, place string }
	measured := map[id]bool{}
	for _, a := range r.Answers {
		measured[id{a.Engine, ""}] = true
		measured[id{a.Engine, a.Place}] = true
	}
	skips := map[id][]record.Skip{}
	var order []id
	for _, s := range r.Run.Skipped {
		key := id{s.Cell.Engine, placeLabel(s.Cell)}
		if !measured[id{s.Cell.Engine, ""}] {
			key.place = ""
		}
		if measured[key] {
			continue
		}
		if skips[key] == nil {
			order = append(order, key)
		}
		skips[key] = append(skips[key], s)
	}
	for _, key := range order {
		a := Answer{Engine: key.engine, Place: key.place, Overall: Unknown, OverallLow: Unknown, OverallHigh: Unknown}
		if key.place != "" {
			a.limits = limitsName(skips[key][0].Cell.Limits)
		}
		a.Text = "not measured: " + r.reasons(skips[key], key.place != "", opt)
		for _, w := range r.Workloads {
			a.Ratios = append(a.Ratios, Ratio{Workload: w.Name, Ratio: Unknown, Low: Unknown, High: Unknown, Kind: Skipped})
		}
		r.Answers = append(r.Answers, a)
	}
}

// maxReasons is how many reasons an answer gives before it says where the others are. A place may be skipped for a
// different reason in each workload.
const maxReasons = 4

// reasons reports why cells were skipped. A reason that holds for all stands alone. Several stand each with their
// workloads, or with their places if the answer is about a whole engine. Reasons that differ in figures only count as one.
func (r *Report) reasons(skips []record.Skip, ofPlace bool, opt Options) string {
	var kinds []string
	text := map[string]string{}
	at := map[string][]string{}
	for _, s := range skips {
		kind, where := mask(s.Reason), placeLabel(s.Cell)
		if ofPlace {
			where = s.Cell.Workload
		}
		if at[kind] == nil {
			kinds = append(kinds, kind)
			text[kind] = s.Reason
		}
		if !slices.Contains(at[kind], where) {
			at[kind] = append(at[kind], where)
		}
	}
	if len(kinds) == 1 {
		return text[kinds[0]]
	}
	var out []string
	for i, kind := range kinds {
		if i == maxReasons {
			out = append(out, "all reasons: plimsoll results show "+r.Run.ID+opt.Flags)
			break
		}
		where := strings.Join(at[kind], ", ")
		if ofPlace && len(at[kind]) > maxReasons {
			where = all(len(at[kind]), len(r.Workloads))
		}
		out = append(out, text[kind]+" ("+where+")")
	}
	return strings.Join(out, "; ")
}
