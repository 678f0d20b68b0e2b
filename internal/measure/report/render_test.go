package report

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/text/clean"
)

func render(t *testing.T, format string, term Terminal, s Set) string {
	t.Helper()
	r, err := New(format, term)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.Render(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	run, trials := everyday()
	s := NewSet(Build(run, trials, Options{TrialHistograms: -1}))
	// The raw part of the JSON form would make a golden file of a megabyte; three
	// trials and no buckets show its shape.
	short := *s.Reports[0]
	short.Trials = short.Trials[:3]
	short.Workloads = append([]Workload(nil), short.Workloads[:1]...)
	short.Workloads[0].Cells = append([]Cell(nil), short.Workloads[0].Cells[:3]...)
	for i := range short.Workloads[0].Cells {
		c := &short.Workloads[0].Cells[i]
		c.Latency = append([]Latency(nil), c.Latency...)
		c.Latency[0].Buckets = c.Latency[0].Buckets[:2]
	}
	for _, g := range []struct {
		file, format string
		width        int
		set          Set
	}{
		{"everyday-80.txt", "text", 80, s}, {"everyday-100.txt", "text", 100, s}, {"everyday-160.txt", "text", 160, s},
		{"everyday.md", "md", 0, s}, {"everyday.csv", "csv", 0, s}, {"everyday.json", "json", 0, NewSet(&short)},
	} {
		got := render(t, g.format, Terminal{Width: g.width}, g.set)
		golden.Check(t, g.file, got)
	}
}

func TestTextStaysInItsWidth(t *testing.T) {
	s := NewSet(built(everyday()))
	for _, width := range []int{80, 100, 120, 160} {
		for _, line := range strings.Split(render(t, "text", Terminal{Width: width}, s), "\n") {
			if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "  | ") {
				t.Errorf("width %d: a line of %d: %q", width, n, line)
			}
		}
	}
}

func TestColoursOnlyWhenAsked(t *testing.T) {
	s := NewSet(built(everyday()))
	if strings.Contains(render(t, "text", Terminal{}, s), "\x1b") {
		t.Error("an escape sequence in text without colours")
	}
	if !strings.Contains(render(t, "text", Terminal{Colour: true}, s), "\x1b[31m") {
		t.Error("no red in text with colours")
	}
}

// poison is a run whose every free text is an attack.
func poison() (record.Run, []record.Trial) {
	run, trials := everyday()
	evil := "\x1b]0;owned\x07\x1b[2J</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>|`=cmd()\u202e\r\n# top"
	run.Plan, run.Command, run.PlanText = evil, evil, run.PlanText+evil
	run.Machine.Hostname, run.Machine.CPUModel = evil, evil
	run.Warnings = []record.Warning{{Check: evil, Severity: record.Doubt, Text: evil}}
	run.Skipped = append(run.Skipped, record.Skip{Cell: record.Cell{Workload: "=1+1" + evil, Engine: evil, Place: evil}, Reason: evil})
	for i := range trials {
		t := &trials[i]
		t.Where[0].Options, t.Where[0].Source = evil, evil
		t.Warnings = append(t.Warnings, record.Warning{Check: evil, Severity: evil, Text: evil})
		if t.Status == record.Failed {
			t.Error, t.Log, t.Phase, t.Progress = evil, evil, evil, evil
		}
		if t.Cell.Place == "bind" {
			t.Cell.Place += evil
			t.Cell.Limits = "=HYPERLINK(1)" + evil
		}
	}
	return run, trials
}

func TestPoisonedTextIsHarmless(t *testing.T) {
	s := NewSet(built(poison()))
	for _, format := range []string{"text", "md", "csv"} {
		out := render(t, format, Terminal{}, s)
		texttest.Lacks(t, out, []string{"\x1b", "\x07", "\u202e", "\r"}, format)
	}
	if md := render(t, "md", Terminal{}, s); strings.Contains(codeless(md), "<script") || strings.Contains(codeless(md), "<img") {
		t.Error("markdown holds a tag")
	}
	rows, err := csv.NewReader(strings.NewReader(render(t, "csv", Terminal{}, s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		for _, field := range row {
			if field != "" && strings.ContainsRune("=+@", rune(field[0])) {
				t.Errorf("a field that a spreadsheet takes for a formula: %q", field)
			}
		}
	}
	page := render(t, "html", Terminal{}, s)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("the page has %d script elements, want the one with data", n)
	}
	if strings.Contains(page, "<img") {
		t.Error("the page holds foreign markup")
	}
}

// codeless removes fenced code, in which nothing is markup.
func codeless(md string) string {
	return regexp.MustCompile("(?s)````*\n.*?\n````*").ReplaceAllString(md, "")
}

// The page is written as XML would be, so a strict parser finds unbalanced tags.
func TestPageIsWellFormed(t *testing.T) {
	for name, s := range map[string]Set{
		"everyday": NewSet(built(everyday())),
		"poison":   NewSet(built(poison())),
		"two":      NewSet(built(everyday()), built(everyday())),
	} {
		page := render(t, "html", Terminal{}, s)
		d := xml.NewDecoder(strings.NewReader(page))
		d.Strict, d.Entity = true, xml.HTMLEntity
		ids, links, svgs, titles := map[string]bool{}, []string{}, 0, 0
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			switch e.Name.Local {
			case "svg":
				svgs++
			case "title":
				titles++
			case "link", "img", "iframe", "object", "embed", "form", "base":
				t.Errorf("%s: the page has a %s", name, e.Name.Local)
			}
			for _, a := range e.Attr {
				switch {
				case a.Name.Local == "id" && ids[a.Value]:
					t.Errorf("%s: the id %q is there twice", name, a.Value)
				case a.Name.Local == "id":
					ids[a.Value] = true
				case a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#"):
					t.Errorf("%s: a link to %q", name, a.Value)
				case a.Name.Local == "href":
					links = append(links, strings.TrimPrefix(a.Value, "#"))
				case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "src":
					t.Errorf("%s: attribute %s", name, a.Name.Local)
				}
			}
		}
		for _, l := range links {
			if !ids[strings.ReplaceAll(l, "%21", "!")] {
				t.Errorf("%s: a link to the missing id %q", name, l)
			}
		}
		if svgs < 50 || titles != svgs+1 {
			t.Errorf("%s: %d pictures, %d titles, want a title in each and one of the page", name, svgs, titles)
		}
		if regexp.MustCompile(`https?://|@import|url\(`).MatchString(page) {
			t.Errorf("%s: the page names something on the network", name)
		}
	}
}

func TestPageEmbedsItsData(t *testing.T) {
	r := built(everyday())
	page := render(t, "html", Terminal{}, NewSet(r))
	_, data, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var doc document
	if err := json.Unmarshal([]byte(data), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SchemaVersion != SchemaVersion || len(doc.Reports) != 1 || len(doc.Reports[0].Trials) != len(r.Trials) {
		t.Errorf("the embedded data has version %d, %d reports", doc.SchemaVersion, len(doc.Reports))
	}
	if got := doc.Reports[0].Run.PlanText; got != r.Run.PlanText {
		t.Errorf("the plan in the data is %q", got)
	}
}

func TestSeveralRunsAreNotCompared(t *testing.T) {
	run, trials := everyday()
	other := run
	other.Machine.Kernel, other.Machine.CPUs = "6.18.0", 8
	s := NewSet(built(run, trials), built(other, trials))
	const want = "2 runs, one after another. Each is compared within itself only; they were measured on machines that differ in kernel, number of CPUs, so a figure of one run says nothing about another's."
	if s.Note != want {
		t.Errorf("the note is %q, want %q", s.Note, want)
	}
	for _, format := range []string{"text", "md", "html"} {
		if out := strings.Join(strings.Fields(render(t, format, Terminal{}, s)), " "); !strings.Contains(out, "compared within itself only") {
			t.Errorf("%s doesn't say that runs aren't compared", format)
		}
	}
}

func TestFormatOf(t *testing.T) {
	for file, want := range map[string]string{"": "", "x": "", "x.pdf": "", "a/b.HTML": "html", "x.htm": "html", "x.md": "md", "x.json": "json", "x.csv": "csv", "x.txt": "text"} {
		if got := FormatOf(file); got != want {
			t.Errorf("FormatOf(%q) = %q, want %q", file, got, want)
		}
	}
	if _, err := New("pdf", Terminal{}); err == nil {
		t.Error(`New("pdf") gave no error`)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "é ok": "é ok", "a\nb": "a\nb",
		"\x1b[31mred\x1b[0m": "red", "\x1b]0;title\x07x": "x", "\x1b]8;;http://x\x1b\\y": "y",
		"\x1bcreset": "reset", "\x9b31mx": "\ufffd31mx", "\u009b31mx": " 31mx", "a\x00b\rc": "a b c", "bad\xff": "bad\ufffd", "l\u202er": "l r", "end\x1b": "end ",
	} {
		if got := clean.Text(in); got != want && !(in == "\u009b31mx" && got == "x") {
			t.Errorf("clean.Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[float64]string{0: "0", 0.0123: "0.0123", 1.234: "1.23", 99.96: "100.0", 182300: "182,300", -1234567: "-1,234,567", 1e-9: "0.000000"} {
		if got := digits(in, 3); got != want {
			t.Errorf("digits(%v) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[Num]string{Unknown: "n/a", 0: "0 s", 999: "999 ns", 1500: "1.5 µs", 2.5e9: "2.5 s"} {
		if got := durationText(in); got != want {
			t.Errorf("durationText(%v) = %q, want %q", float64(in), got, want)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreReported(t *testing.T) {
	s := NewSet(built(everyday()))
	for _, format := range Formats {
		r, err := New(format, Terminal{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Render(brokenWriter{}, s); err == nil {
			t.Errorf("%s: a full disk gave no error", format)
		}
	}
}
