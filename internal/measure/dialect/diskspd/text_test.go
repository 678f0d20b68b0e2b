package diskspd

import (
	"regexp"
	"strings"
	"testing"
)

// TestTextIsWhatProgramsRead takes the text report apart as Microsoft's Virtual Client does: sections
// between empty lines, lines of dashes dropped, columns between bars, each table as wide as its head.
func TestTextIsWhatProgramsRead(t *testing.T) {
	p, r := bigReport(t, "-b4K -r -w25 -L -D5000 a&b c")
	p.Spans, r.Spans = p.Spans[:1], r.Spans[:1]
	text := regexp.MustCompile(`(?m)^-{2,}\s*$\n`).ReplaceAllString(ResultsText(&p, &r), "")
	sections := map[string][]string{}
	for _, s := range regexp.MustCompile(`\n\s*\n`).Split(text, -1) {
		lines := strings.Split(strings.Trim(s, "\n"), "\n")
		sections[lines[0]] = lines[1:]
	}
	for name, want := range map[string]struct{ rows, columns int }{
		"Total IO": {5, 9}, "Read IO": {5, 9}, "Write IO": {5, 9}, "Total latency distribution:": {16, 4}, "Latency distribution: c": {16, 4},
		"Socket | Node | Core | Class | CPU |  Usage |  User  | Kernel |  Idle": {5, 9},
	} {
		rows := sections[name]
		if len(rows) != want.rows {
			t.Errorf("%q has %d rows, want %d", name, len(rows), want.rows)
			continue
		}
		for _, row := range rows {
			n := len(strings.Split(strings.Replace(row, "total:", "total|", 1), "|"))
			if short := strings.HasPrefix(row, "total:") && n == want.columns-1 || strings.Contains(row, "avg.|") && n == 5; n != want.columns && !short {
				t.Errorf("%q: %q has %d columns, want %d", name, row, n, want.columns)
			}
		}
	}
}
