package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/compare"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/share"
	"plimsoll/internal/testkit/golden"
)

// TestShare measures two runs, gives them away, checks them and compares them: what is measured fits together, and no name of this
// machine or of its folders is in a file.
func TestShare(t *testing.T) {
	needRun(t)
	dir, files := t.TempDir(), t.TempDir()
	run := []string{"run", "places", "--quick", "--only", "engine=host,workload=append|wal|tree|randread-one|write-seq,place=dir", "--blocks", "2", "--path", files}
	var ids []string
	for range 2 {
		if r := plimsoll(t, t.Context(), dir, "", run...); r.status != exitDone {
			t.Fatalf("status %d:\n%s", r.status, r.stderr)
		}
		made, _ := records(t, dir)
		ids = append(ids, made.ID)
	}
	at := func(name string) string { return filepath.Join(files, name) }
	var said transcript
	do := func(want int, args ...string) string {
		t.Helper()
		r := plimsoll(t, t.Context(), dir, "", append([]string{"results"}, args...)...)
		if r.status != want {
			t.Errorf("%v: status %d, want %d: %s%s", args, r.status, want, r.stdout, r.stderr)
		}
		said.add(append([]string{"results"}, args...), r)
		return r.stdout
	}
	do(exitDone, "export", "last", "--share", "-o", at("mine.json"))
	do(exitDone, "export", ids[0], "--share", "-o", at("theirs.json"))
	do(exitDone, "export", ids[0], ids[1], "--share", "-o", at("both.json"))
	do(exitDone, "check", at("theirs.json"))
	do(exitDone, "check", at("both.json"))
	do(exitUsage, "compare", at("both.json"), "last")
	good, err := os.ReadFile(at("theirs.json"))
	mustDo(t, err)
	host, err := os.Hostname()
	mustDo(t, err)
	for _, name := range []string{files, dir, `"` + host} {
		if bytes.Contains(good, []byte(name)) {
			t.Errorf("the file has %s", name)
		}
	}
	mustDo(t, os.WriteFile(at("forged.json"), bytes.Replace(good, []byte(`"block":0`), []byte(`"block":1`), 1), 0o600))
	do(exitNotHeld, "check", at("forged.json"))
	mustDo(t, os.WriteFile(at("newer.json"), bytes.Replace(good, []byte(`"version":1`), []byte(`"version":7`), 1), 0o600))
	do(exitNotHeld, "check", at("newer.json"), "--json")
	do(exitUsage, "compare", at("forged.json"), "last")
	said.check(t, "results-share.txt", golden.Text(files, "FILES"), golden.Text(ids[0], "RUN0"), golden.Text(ids[1], "RUN1"), golden.Text(version, "VERSION"), golden.Pattern(`seed \d+`, "seed N"))

	var f share.Finding
	mustDo(t, json.Unmarshal([]byte(do(exitDone, "check", at("mine.json"), "--json")), &f))
	if f.Verdict != share.Open || len(f.Runs) != 1 || f.Runs[0].Trials != 20 {
		t.Errorf("check --json: %+v, want an open run of 20 trials", f)
	}
	for _, pair := range [][2]string{{at("theirs.json"), at("mine.json")}, {at("theirs.json"), "last"}} {
		var c compare.Comparison
		mustDo(t, json.Unmarshal([]byte(do(exitDone, "compare", pair[0], pair[1], "--json")), &c))
		ratios := 0
		for _, ch := range c.Changes {
			if ch.Absolute.Known() {
				t.Errorf("%s: rates are compared with those of an unknown machine", ch.Key)
			}
			if ch.Kind == report.Base {
				ratios++
			}
		}
		if ratios != 5 || len(c.Differences) == 0 || !strings.HasPrefix(c.Differences[0], "machine: not named / ") {
			t.Errorf("%v: %d baselines, differences %q; want 5, and a machine without a name", pair, ratios, c.Differences)
		}
	}
	in := plimsollResults(dir, "export", "last", "--share")
	a := &app{stdin: strings.NewReader(in.stdout), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	if status := a.run(t.Context(), []string{"results", "check", "-"}); status != exitDone {
		t.Errorf("check of standard input: status %d", status)
	}
}
