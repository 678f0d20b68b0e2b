package share

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/testkit/golden"
)

// file is the file of a run.
func file(t *testing.T, r record.Run, trials []record.Trial) []byte {
	t.Helper()
	s, err := Of(r, trials)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, []Run{s}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checked is a finding as text.
func checked(t *testing.T, data []byte) (Verdict, string) {
	t.Helper()
	f, err := Check(data, version)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.WriteText(&b, "theirs.json"); err != nil {
		t.Fatal(err)
	}
	return f.Verdict, b.String()
}

// TestVerdicts: a complete run of a built-in plan is closed, and each change of it is named.
func TestVerdicts(t *testing.T) {
	own := `name: places
workloads: {wal: {kind: wal}}
engines: [host]
places: {dir: {}}
blocks: 6
`
	var said strings.Builder
	for _, x := range []struct {
		name string
		make func() (record.Run, []record.Trial)
		want Verdict
	}{
		{"as it is", func() (record.Run, []record.Trial) { return builtIn(t, "places", plan.Options{}) }, Closed},
		{"--quick", func() (record.Run, []record.Trial) { return builtIn(t, "places", plan.Options{Quick: true}) }, Open},
		{"--only, --set, --blocks", func() (record.Run, []record.Trial) {
			return builtIn(t, "places", plan.Options{Only: "engine=host,workload=wal|tree", Set: []string{"workloads.wal.runtime=50ms"}, Blocks: "7", Path: "/home/alice"})
		}, Open},
		{"a plan that borrows the name", func() (record.Run, []record.Trial) { return recorded(t, "own.yaml", []byte(own), plan.Options{}) }, Open},
		{"another plan", func() (record.Run, []record.Trial) {
			return recorded(t, "own.yaml", []byte(strings.Replace(own, "name: places", "name: alice", 1)), plan.Options{})
		}, Open},
		{"interrupted", func() (record.Run, []record.Trial) {
			r, trials := builtIn(t, "places", plan.Options{})
			r.Status = record.Interrupted
			return r, trials[:len(trials)-1]
		}, Open},
	} {
		r, trials := x.make()
		v, text := checked(t, file(t, r, trials))
		if v != x.want {
			t.Errorf("%s: %s, want %s", x.name, v, x.want)
		}
		fmt.Fprintf(&said, "--- %s\n%s\n", x.name, text)
	}
	golden.Check(t, "verdicts.txt", said.String())
}

// forge changes the content of a file and computes its hash anew, as anybody can.
func forge(t *testing.T, data []byte, change func(*content)) []byte {
	t.Helper()
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	var c content
	if err := json.Unmarshal(h.Content, &c); err != nil {
		t.Fatal(err)
	}
	change(&c)
	var b bytes.Buffer
	if err := Write(&b, c.Runs); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rehash replaces the first of a text in the content of a file, and computes its hash anew.
func rehash(t *testing.T, data []byte, old, by string) []byte {
	t.Helper()
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	b := bytes.Replace(h.Content, []byte(old), []byte(by), 1)
	return fmt.Appendf(nil, `{"format":%q,"version":%d,"hash":%q,"content":%s}`, Format, Version, digest(b), b)
}

// small is a run that is quick to judge.
func small(t *testing.T) (record.Run, []record.Trial) {
	return builtIn(t, "places", plan.Options{Only: "engine=host|oci,workload=wal|randread-deep,place=dir|layer", Blocks: "6"})
}

// TestInvalid: damage and forgery are told apart from an honest file, also with a hash that fits.
func TestInvalid(t *testing.T) {
	r, trials := small(t)
	good := file(t, r, trials)
	if v, text := checked(t, good); v != Open {
		t.Fatalf("the file to be damaged is %s", text)
	}
	trial := func(change func(*record.Trial)) func(*content) {
		return func(c *content) { change(&c.Runs[0].Trials[3]) }
	}
	// layer is the report's cell of the layer.
	layer := func(c *content) *report.Cell {
		for i := range c.Runs[0].Report.Workloads[0].Cells {
			if x := &c.Runs[0].Report.Workloads[0].Cells[i]; x.Place == "layer" {
				return x
			}
		}
		t.Fatal("the report has no layer")
		return nil
	}
	var said strings.Builder
	for _, x := range []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"no JSON", []byte("hello")},
		{"another JSON", []byte(`{"schema_version":3,"runs":[]}`)},
		{"a list", []byte(`[1]`)},
		{"cut off", good[:len(good)/2]},
		{"two", append(bytes.Clone(good), good...)},
		{"newer", bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1)},
		{"version 0", bytes.Replace(good, []byte(`"version":1`), []byte(`"version":0`), 1)},
		{"edited", bytes.Replace(good, []byte(`"cpus":2`), []byte(`"cpus":4`), 1)},
		{"no run", forge(t, good, func(c *content) { c.Runs = []Run{} })},
		{"no report", forge(t, good, func(c *content) { c.Runs[0].Report = nil })},
		{"another figure", forge(t, good, trial(func(t *record.Trial) { t.Value *= 1.1 }))},
		{"another count", forge(t, good, trial(func(t *record.Trial) { t.Results[0].Classes[0].Ops *= 2 }))},
		{"other rates", forge(t, good, trial(func(t *record.Trial) { t.Results[0].Samples[0].Ops++ }))},
		{"a shorter window", forge(t, good, trial(func(t *record.Trial) { t.Results[0].Elapsed /= 2 }))},
		{"a shorter window and its figure", forge(t, good, trial(func(t *record.Trial) { t.Results[0].Elapsed /= 2; t.Value *= 2 }))},
		{"no results", forge(t, good, trial(func(t *record.Trial) { t.Results = nil }))},
		{"another block", forge(t, good, trial(func(t *record.Trial) { t.Block = 99 }))},
		{"the same twice", forge(t, good, func(c *content) { c.Runs[0].Trials = append(c.Runs[0].Trials, c.Runs[0].Trials[0]) })},
		{"a slow trial left out", forge(t, good, func(c *content) { c.Runs[0].Trials = c.Runs[0].Trials[1:] })},
		{"another cell", forge(t, good, trial(func(t *record.Trial) { t.Cell.Place = "tmpfs" }))},
		{"another verdict", forge(t, good, func(c *content) { layer(c).Kind = report.Faster })},
		{"another ratio", forge(t, good, func(c *content) { layer(c).Compared.Ratio = 1 })},
		{"another sentence", forge(t, good, func(c *content) { layer(c).Verdict = "faster by 40-50 %" })},
		{"another answer", forge(t, good, func(c *content) { c.Runs[0].Report.Answers[0].Text = "the best" })},
		{"without its doubts", forge(t, good, func(c *content) { c.Runs[0].Report.Concerns = nil })},
		{"another plan", forge(t, good, func(c *content) { c.Runs[0].Report.Run.PlanText += "# more\n" })},
		{"another plan's hash", forge(t, good, func(c *content) { c.Runs[0].PlanHash = digest(nil) })},
		{"a word beside the content", bytes.Replace(good, []byte(`"version":1`), []byte(`"version":1,"by":"Docker"`), 1)},
		{"a second content", bytes.Replace(good, []byte(`"version":1`), []byte(`"version":1,"Content":{}`), 1)},
		{"a key twice", rehash(t, good, `"runs":`, `"Runs":[],"runs":`)},
		{"a key twice within", rehash(t, good, `"margin":`, `"Margin":0.5,"margin":`)},
		{"a key more", rehash(t, good, `"margin":`, `"by":"Docker","margin":`)},
		{"a key more in a trial", rehash(t, good, `"block":0,`, `"block":0,"log":"bought from Docker",`)},
		{"another machine", forge(t, good, func(c *content) { c.Runs[0].Report.Run.Machine.CPUModel = "\x1b[31mCray of alice" })},
		{"another seed", forge(t, good, func(c *content) { c.Runs[0].Report.Run.Margin = 0.3 })},
	} {
		f, err := Check(x.data, version)
		if err != nil {
			t.Fatal(err)
		}
		if f.Verdict != Invalid {
			t.Errorf("%s: %s, want %s", x.name, f.Verdict, Invalid)
		}
		fmt.Fprintf(&said, "%s: %s\n", x.name, f.Why)
	}
	golden.Check(t, "invalid.txt", said.String())
}

// TestOtherVersion: words of another version's report may differ, its figures may not.
func TestOtherVersion(t *testing.T) {
	r, trials := small(t)
	r.Version = "0.0.9"
	words := forge(t, file(t, r, trials), func(c *content) { c.Runs[0].Report.Workloads[0].Cells[1].Verdict = "as it was said then" })
	if v, text := checked(t, words); v != Open {
		t.Errorf("other words: %s", text)
	}
	figures := forge(t, words, func(c *content) { c.Runs[0].Report.Workloads[0].Cells[1].Median *= 2 })
	if v, text := checked(t, figures); v != Invalid {
		t.Errorf("other figures: %s", text)
	}
}

// TestSameVerdicts: what is left out changes no figure and no verdict, and a file that is read is what was written.
func TestSameVerdicts(t *testing.T) {
	r, trials := small(t)
	whole := report.Build(r, trials, report.Options{TrialHistograms: -1})
	data := file(t, r, trials)
	runs, err := Read(data, version)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range whole.Workloads {
		for j, want := range w.Cells {
			got := runs[0].Report.Workloads[i].Cells[j]
			if d := cmp.Diff([]any{want.Kind, want.Verdict, want.Compared, want.Median, want.Doubt, want.N}, []any{got.Kind, got.Verdict, got.Compared, got.Median, got.Doubt, got.N}); d != "" {
				t.Errorf("%s (-whole +shared):\n%s", want.Key, d)
			}
		}
	}
	var again bytes.Buffer
	if err := Write(&again, runs); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, again.Bytes()) {
		t.Error("a file that was read is not written as it was")
	}
}

// TestStoredFile checks a file of version 1. If its verdicts no longer follow from its trials, reports compute something in another
// way: Version must grow, and older versions must be compared less closely.
func TestStoredFile(t *testing.T) {
	const path = "testdata/version-1.json"
	if _, err := os.Stat(path); err != nil && golden.Updating() { // An existing one is never made anew: it is the past.
		r, trials := builtIn(t, "places", plan.Options{Only: "engine=host,workload=wal,place=dir", Blocks: "6"})
		if err := os.WriteFile(path, file(t, r, trials), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := Check(data, "9.9.9"); err != nil || f.Verdict != Open {
		t.Errorf("the stored file: %+v, %v; want it open", f, err)
	}
}

// TestRefused: what is no run of a plan can't be in a file.
func TestRefused(t *testing.T) {
	r, trials := small(t)
	for want, change := range map[string]func(*record.Run){
		"has no plan":          func(r *record.Run) { r.PlanText = "" },
		"is not the id of":     func(r *record.Run) { r.ID = "quay" },
		"the plan of the run:": func(r *record.Run) { r.PlanText = "name: [" },
	} {
		bad := r
		change(&bad)
		if _, err := Of(bad, trials); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
