package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/engines"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workerbin"
)

// notes is an observer that keeps the notes.
type notes struct{ said []string }

func (n *notes) Note(text string)       { n.said = append(n.said, text) }
func (*notes) Plan(int, int, int)       {}
func (*notes) Trial(int, *record.Trial) {}

// TestCheckSafety: at the end of a run each place is asked once, but for memory, what was skipped and a folder that is gone. The
// answers are recorded.
func TestCheckSafety(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := workerbin.Bytes("linux", "amd64"); err != nil {
		t.Skipf("needs the worker: %v", err)
	}
	dir, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := New("plan.yaml", []byte(`
name: safe
workloads: {append: {kind: append, count: 10}, wal: {kind: wal, runtime: 10ms}}
engines: [host, oci]
places: {dir: {path: `+dir+`}, gone: {kind: dir, path: `+gone+`}, bind: {}, layer: {}, tmpfs: {}}
limits: {none: {}, capped: {memory: 64MiB}}
`), Command{}, "0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range j.Plan.Cells() {
		if c.Place == "layer" {
			j.Run.Skipped = append(j.Run.Skipped, record.Skip{Cell: c, Reason: "no layer today"})
		}
	}
	state := t.TempDir()
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	source := engines.Source{State: state, Machine: t.TempDir()}
	made, err := source.OfPlan(j.Plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	n := &notes{}
	if err := j.checkSafety(t.Context(), Bench{Source: source, Engines: made, Store: db, Observer: n}); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, s := range j.Run.Safety {
		asked = append(asked, s.Engine+" "+s.Place)
		for _, u := range s.Uses {
			if strings.HasPrefix(u.Name, "SQLite, WAL") && u.Safe == record.SafeNo {
				t.Errorf("%s %s: %+v", s.Engine, s.Place, u)
			}
		}
	}
	if got, want := strings.Join(asked, ", "), "host dir, oci bind"; got != want {
		t.Errorf("asked of %s, want %s (%q)", got, want, n.said)
	}
	run, err := db.Run(j.Run.ID)
	if err != nil || len(run.Safety) != 2 {
		t.Errorf("recorded: %+v, %v", run.Safety, err)
	}
}
