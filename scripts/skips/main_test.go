package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const skipLog = `{"Action":"start","Package":"plimsoll/a"}
{"Action":"output","Package":"plimsoll/a","Test":"TestRoot","Output":"=== RUN   TestRoot\n"}
{"Action":"output","Package":"plimsoll/a","Test":"TestRoot","Output":"    a_test.go:5: root is needed\n"}
{"Action":"output","Package":"plimsoll/a","Test":"TestRoot","Output":"--- SKIP: TestRoot (0.00s)\n"}
{"Action":"skip","Package":"plimsoll/a","Test":"TestRoot"}
{"Action":"pass","Package":"plimsoll/a","Test":"TestOther"}
{"Action":"skip","Package":"plimsoll/empty"}
`

func TestRun(t *testing.T) {
	for _, row := range []struct {
		name, allow, log, out, err string
	}{
		{"bad log", "", "FAIL\n", "", "not a line of go test -json"},
		{"bad expression", "# fine\n(\n", skipLog, "", "allow:2:"},
		{"not allowed", "", skipLog, "a.TestRoot: MAY NOT SKIP HERE: a_test.go:5: root is needed", "1 tests skipped"},
		{"a part doesn't match", "a.TestRo\n", skipLog, "MAY NOT", "1 tests skipped"},
		{"allowed", "plimsoll/a\\.Test.* # why\n", skipLog, "TestRoot: may skip: a_test.go:5: root is needed", ""},
		{"none", "", `{"Action":"pass","Package":"p","Test":"T"}`, "none", ""},
		{"empty", "", "", "none", ""},
	} {
		dir := t.TempDir()
		allow, log := filepath.Join(dir, "allow"), filepath.Join(dir, "log")
		for path, s := range map[string]string{allow: row.allow, log: row.log} {
			if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := run(allow, []string{log}, &out)
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: run() = %v, want %q", row.name, err, row.err)
		}
		if !strings.Contains(out.String(), row.out) {
			t.Errorf("%s: output %q, want %q in it", row.name, out.String(), row.out)
		}
	}
}

func TestRunUsage(t *testing.T) {
	for _, logs := range [][]string{nil, {"a", "b"}, {"a"}} {
		if err := run("", logs, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "needed") {
			t.Errorf("run(\"\", %v) = %v, want what is needed", logs, err)
		}
	}
	if err := run(filepath.Join(t.TempDir(), "none"), []string{"a"}, &bytes.Buffer{}); !os.IsNotExist(err) {
		t.Errorf("run without the list = %v, want not exist", err)
	}
}
