package report

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestReasonsOfWhatWasNotMeasured: an answer without figures gives the reasons, each with what it
// holds for, and beyond a few of them the command that shows all.
// Before: "not measured: no images there (and 1 other reason)".
func TestReasonsOfWhatWasNotMeasured(t *testing.T) {
	at := func(workload, place, reason string) record.Skip {
		return record.Skip{Cell: record.Cell{Workload: workload, Engine: "vm", Place: place, Limits: "none", Clients: 1}, Reason: reason}
	}
	for _, row := range []struct {
		name  string
		skips []record.Skip
		want  string
	}{
		{"one for all", []record.Skip{at("wal", "dir", "no /dev/kvm"), at("append", "layer", "no /dev/kvm")}, "not measured: no /dev/kvm"},
		{"one each", []record.Skip{
			at("wal", "dir", "no guest image"), at("append", "dir", "no guest image"), at("wal", "volume", "engine vm has no place volume"), at("wal", "bind", "no guest image"),
		}, "not measured: no guest image (dir, bind); engine vm has no place volume (volume)"},
		{"figures only", []record.Skip{at("wal", "dir", "needs 20 MiB, 3 MiB are free"), at("append", "dir", "needs 500 MiB, 3 MiB are free")}, "not measured: needs 20 MiB, 3 MiB are free"},
		{"many", []record.Skip{at("wal", "a", "lacks a"), at("wal", "b", "lacks b"), at("wal", "c", "lacks c"), at("wal", "d", "lacks d"), at("wal", "e", "lacks e"), at("wal", "f", "lacks f")},
			"not measured: lacks a (a); lacks b (b); lacks c (c); lacks d (d); all reasons: plimsoll results show 20261121-153000-3f9a --state /s"},
	} {
		run, trials := everyday()
		run.Skipped = row.skips
		r := Build(run, trials, Options{Flags: " --state /s"})
		if got := answerOf(t, r, "vm", "").Text; got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}

	// A place of an engine that measured others: the workloads tell its reasons apart.
	run, trials := everyday()
	run.Skipped = nil
	for i, reason := range []string{"no room", "no room", "no tool", "no tool"} {
		s := at(fmt.Sprintf("w%d", i), "share", reason)
		s.Cell.Engine = "oci"
		run.Skipped = append(run.Skipped, s)
	}
	r := Build(run, trials, Options{})
	if got, want := answerOf(t, r, "oci", "share").Text, "not measured: no room (w0, w1); no tool (w2, w3)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if out := render(t, "text", Terminal{}, NewSet(r)); !strings.Contains(out, "no tool (w2, w3)") {
		t.Errorf("the terminal's report lacks the second reason:\n%s", out)
	}
}
