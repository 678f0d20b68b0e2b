package report

import (
	"html"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/text/clean"
)

// TestCaveatsAreInOneOrder: the page had the failures before the figures in doubt and the terminal after them, and only the
// terminal had the notes about trials. Every form has each caveat once, in the model's order.
func TestCaveatsAreInOneOrder(t *testing.T) {
	for name, r := range map[string]*Report{"everyday": built(everyday()), "quick": built(quick()), "caps": built(cappedRun(false))} {
		var want []string
		var add func([]caveat)
		add = func(all []caveat) {
			for _, c := range all {
				want = append(want, clean.Line(c.Text))
				add(c.Why)
			}
		}
		add(r.caveats())
		if name == "everyday" && (!strings.Contains(want[0], "had failed trials") || !strings.Contains(want[1], "FAILED")) {
			t.Errorf("the first doubts are %q", want[:2])
		}
		for _, form := range []string{"text", "md", "html"} {
			out := render(t, form, Terminal{Width: 160, Full: true}, NewSet(r))
			if form == "html" {
				out, _, _ = strings.Cut(html.UnescapeString(out), `<script type="application/json"`)
			}
			out = strings.ReplaceAll(strings.Join(strings.Fields(out), " "), `\_`, "_")
			at := 0
			for _, text := range want {
				i := strings.Index(out[at:], strings.Join(strings.Fields(text), " "))
				if i < 0 {
					t.Errorf("%s, %s: %q is not there, or not in its place: %q", name, form, text, slices.Clip(want))
					break
				}
				at += i
			}
		}
	}
}
