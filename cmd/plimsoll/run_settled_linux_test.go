package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/report"
)

// TestRunUntilSettled: a run goes on without what is settled, until all is or the time is over; a run that is complete goes on
// too, and its report says how often its verdicts could be seen.
func TestRunUntilSettled(t *testing.T) {
	t.Parallel()
	needRun(t)
	state := t.TempDir()
	plan := `
name: settled
workloads: {wal: {kind: wal, bs: 2300, runtime: 20ms}}
engines: [host]
places: {dir: {}, tmpfs: {}}
baseline: {engine: host, place: dir}
blocks: 3
`
	ran := func(args ...string) *report.Report {
		t.Helper()
		r := plimsoll(t, t.Context(), state, plan, append(args, "--json")...)
		if r.status != exitDone {
			t.Fatalf("%v ended with %d: %s", args, r.status, r.stderr)
		}
		var doc struct{ Reports []*report.Report }
		if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || len(doc.Reports) != 1 {
			t.Fatalf("%v has %d reports, %v", args, len(doc.Reports), err)
		}
		return doc.Reports[0]
	}
	first := ran("run", "-")
	if len(first.Run.Looks) != 1 || first.Run.Looks[0].Blocks != 3 {
		t.Errorf("looks %+v, want one after 3 blocks", first.Run.Looks)
	}
	if first.Next == nil || !strings.HasSuffix(first.Next.Command, " --until-settled --state "+state) {
		t.Errorf("after 3 blocks Next = %+v, want --until-settled", first.Next)
	}
	r := ran("run", "--resume", "last", "--until-settled", "--max", "15s")
	_, open := r.Unsettled()
	if len(open) > 0 {
		t.Errorf("after %d blocks memory and a disk are not told apart: %+v", r.Run.Blocks, open)
	}
	looks := r.Run.Looks
	if len(looks) < 2 || looks[0].Blocks != 3 || looks[len(looks)-1].Blocks != r.Run.Blocks {
		t.Errorf("looks %+v of %d blocks, want one after 3 and one at the end", looks, r.Run.Blocks)
	}
	// A file for others has the looks too: otherwise its verdicts would not follow from its trials.
	shared := filepath.Join(state, "shared.json")
	for _, args := range [][]string{{"results", "export", "last", "--share", "-o", shared}, {"results", "check", shared}} {
		if r := plimsoll(t, t.Context(), state, "", args...); r.status != exitDone {
			t.Errorf("%v ended with %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
	if first.Run.Blocks >= r.Run.Blocks {
		t.Errorf("%d blocks, want more than 3", r.Run.Blocks)
	}
}
