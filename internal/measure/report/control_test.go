package report

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/texttest"
)

// TestControlHasOneName: the second copy of the baseline is the A/A control wherever people read
// of it, in every form and width. Before: "host dir A/A", "host dir (A/A)", "(control)".
func TestControlHasOneName(t *testing.T) {
	run, trials := everyday()
	for i := range trials {
		if tr := &trials[i]; tr.Cell.Control && tr.Block == 2 {
			// Its own warning, and one failed trial, bring its label into sentences.
			tr.Warnings = append(tr.Warnings, record.Warning{Check: "x", Severity: record.Doubt, Text: "something odd was seen"})
			if tr.Cell.Workload == "wal" {
				tr.Status, tr.Value, tr.Results, tr.Error = record.Failed, 0, nil, "killed"
			}
		}
	}
	s := NewSet(built(run, trials))
	other := regexp.MustCompile(`A/A\b|\(control\)`)
	for _, form := range []struct {
		format string
		width  int
	}{{"text", 80}, {"text", 100}, {"text", 160}, {"md", 0}, {"html", 0}} {
		out := strings.Join(strings.Fields(render(t, form.format, Terminal{Width: form.width}, s)), " ")
		out, _, _ = strings.Cut(out, `id="data"`)
		if !strings.Contains(out, "host dir (A/A control)") {
			t.Errorf("%s, width %d: no warning names host dir (A/A control)", form.format, form.width)
		}
		if left := strings.ReplaceAll(out, record.AAControl, ""); other.MatchString(left) {
			at := other.FindStringIndex(left)
			t.Errorf("%s, width %d: another name: %q", form.format, form.width, left[max(0, at[0]-30):at[1]+10])
		}
	}
	// The output for programs keeps its words.
	c := find(t, s.Reports[0], "seqwrite", "host dir (A/A control)")
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	texttest.Has(t, string(b), []string{`"control":true`, `"kind":"control"`})
}
