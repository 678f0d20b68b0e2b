package report

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// A caveat is a doubt or a note below the answer. Why are the reasons for it.
type caveat struct {
	Severity string
	// Mark is the one that the tables of a short text refer to: "!1". It is empty for a caveat that no table refers to.
	Mark string
	Text string
	Why  []caveat
}

// caveats lists what a reader must know beside the answer, the worst first: doubts about the whole run; failures; figures in
// doubt, with each kind of doubt once, the most frequent first; what was not measured; notes about trials, and about the
// run. All forms of a report print this list, so that none orders or groups it otherwise.
func (r *Report) caveats() []caveat {
	out := r.remarksOf(record.Doubt)
	for _, g := range r.failures() {
		out = append(out, caveat{Severity: record.Doubt, Text: g.text()})
	}
	if reasons := r.concernsOf(record.Doubt); len(reasons) > 0 {
		out = append(out, caveat{Severity: record.Doubt, Text: r.doubtText(), Why: reasons})
	}
	for _, text := range r.skippedTexts() {
		out = append(out, caveat{Severity: record.Note, Text: text})
	}
	return append(append(out, r.concernsOf(record.Note)...), r.remarksOf(record.Note)...)
}

// doubtsAndNotes are the caveats in two parts, for the forms that fold the notes.
func (r *Report) doubtsAndNotes() (doubts, notes []caveat) {
	all := r.caveats()
	i := slices.IndexFunc(all, func(c caveat) bool { return c.Severity != record.Doubt })
	if i < 0 {
		return all, nil
	}
	return all[:i], all[i:]
}

// remarksOf are the remarks about the run of one severity.
func (r *Report) remarksOf(severity string) (out []caveat) {
	for _, m := range r.Remarks {
		if (m.Severity == record.Doubt) == (severity == record.Doubt) {
			out = append(out, caveat{Severity: severity, Text: m.Text})
		}
	}
	return out
}

// concernsOf are the warnings of trials of one severity, each kind once.
func (r *Report) concernsOf(severity string) (out []caveat) {
	for _, c := range r.Concerns {
		if (c.Severity == record.Doubt) == (severity == record.Doubt) {
			out = append(out, caveat{Severity: severity, Mark: c.Mark, Text: c.text()})
		}
	}
	return out
}

// skippedTexts say what was not measured and why: first the places without any figure, then the others.
func (r *Report) skippedTexts() (out []string) {
	for i := range r.Answers {
		if a := &r.Answers[i]; a.skipped() {
			out = append(out, a.label()+" was "+a.Text)
		}
	}
	type skip struct{ label, reason string }
	var order []skip
	at := map[skip][]string{}
	for _, w := range r.Workloads {
		for _, s := range skipsByReason(w.Skipped) {
			if s.Everywhere {
				continue
			}
			k := skip{s.Label, s.Reason}
			if at[k] == nil {
				order = append(order, k)
			}
			at[k] = append(at[k], w.Name)
		}
	}
	for _, k := range order {
		where := strings.Join(at[k], ", ")
		if len(at[k]) > 4 {
			where = size.Plural(len(at[k]), "workload")
		}
		was := " was"
		if strings.Contains(k.label, ", ") {
			was = " were"
		}
		out = append(out, k.label+was+" not measured at "+where+": "+k.reason)
	}
	return out
}
