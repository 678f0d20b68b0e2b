package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
)

// TestIOEngineIsTold: every form of the report names the I/O engine of every workload, the ones
// without an engine too, with and without the tables.
func TestIOEngineIsTold(t *testing.T) {
	run, trials := everyday()
	quick := run
	quick.Quick = true
	for _, form := range []struct {
		name, format string
		run          record.Run
		full         bool
	}{
		{"with tables", "text", run, false}, {"quick", "text", quick, false}, {"full", "text", quick, true},
		{"markdown", "md", run, false}, {"page", "html", run, false},
	} {
		out := render(t, form.format, Terminal{Width: 160, Full: form.full}, NewSet(built(form.run, trials)))
		out = strings.ReplaceAll(out, `\_`, "_")
		out, _, _ = strings.Cut(out, `id="data"`) // The page holds the model a second time.
		for _, want := range []string{
			"I/O engine linux-aio at randread-deep: docker layer has no io_uring (seccomp)",
			"I/O engine io_uring at seqwrite: the strongest that works in all cells",
			"plain system calls and no I/O engine at wal, append",
		} {
			if strings.Count(out, want) != 1 {
				t.Errorf("%s: %q is said %d times, want once", form.name, want, strings.Count(out, want))
			}
		}
	}
}

// TestIOEngineOfEachCell: where the plan leaves the engine to each cell, those that were used are
// named with their cells; one that all used is named alone, and a cell that failed used none.
func TestIOEngineOfEachCell(t *testing.T) {
	const why = "the strongest in each cell, as the plan asks: cells may differ"
	for _, row := range []struct {
		used func(record.Cell) string
		want string
	}{
		{func(record.Cell) string { return "io_uring" }, "io_uring"},
		{func(c record.Cell) string {
			if c.Engine == "docker" && c.Place != "layer" {
				return "psync"
			}
			return "io_uring"
		}, "io_uring (host dir, host dir (A/A control), oci layer and 2 more cells), psync (docker bind, docker volume)"},
	} {
		run, trials := everyday()
		run.IOEngine = map[string]record.EngineChoice{"seqwrite": {Why: why}}
		for i := range trials {
			for j := range trials[i].Results {
				trials[i].Results[j].IOEngine = row.used(trials[i].Cell)
			}
		}
		r := built(run, trials)
		w := &r.Workloads[1]
		if d := cmp.Diff([]string{"seqwrite", row.want, why}, []string{w.Name, w.IOEngine, w.Why}); d != "" {
			t.Error(d)
		}
		if remarkWith(r, "I/O engine "+row.want+" at seqwrite: "+why) == nil {
			t.Errorf("no remark names %s: %v", row.want, r.Remarks)
		}
	}
}
