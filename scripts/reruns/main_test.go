package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// againLog is a log in which one test fails with a message and passes in the second try; another one fails and passes beside it.
const againLog = `{"Action":"output","Package":"plimsoll/a","Test":"TestBusy","Output":"    a_test.go:5: took 3 s\n"}
{"Action":"fail","Package":"plimsoll/a","Test":"TestBusy"}
{"Action":"output","Package":"plimsoll/a","Test":"TestEngines/oci","Output":"    leaktest.go:28: left behind:\n"}
{"Action":"output","Package":"plimsoll/a","Test":"TestEngines/oci","Output":"        mount x\n"}
{"Action":"fail","Package":"plimsoll/a","Test":"TestEngines/oci"}
{"Action":"output","Package":"plimsoll/a","Test":"TestFine","Output":"    a_test.go:9: left behind on purpose\n"}
{"Action":"pass","Package":"plimsoll/a","Test":"TestFine"}
{"Action":"output","Package":"plimsoll/a","Test":"TestBusy","Output":"--- PASS: TestBusy\n"}
{"Action":"pass","Package":"plimsoll/a","Test":"TestBusy"}
{"Action":"pass","Package":"plimsoll/a","Test":"TestEngines/oci"}
`

func TestRun(t *testing.T) {
	const again = "plimsoll/a.TestBusy: 2 runs, 1 failures\nplimsoll/a.TestEngines/oci: 2 runs, 1 failures\n"
	for _, tt := range []struct {
		name, refuse, report, out, err string
	}{
		{"bad expression", "# fine\n(\n", again, "", "refuse:2:"},
		{"bad words", "says (\n", again, "", "refuse:1:"},
		{"bad report", "", "FAIL\n", "", "not a line of a report"},
		{"by its name", ".*\\.TestBu.*\n", again, "plimsoll/a.TestBusy: MAY NOT PASS BY A SECOND TRY\nplimsoll/a.TestEngines/oci: noise\n", "1 tests needed"},
		{"by what it said", "says .*left behind.* # why\n", again, "plimsoll/a.TestBusy: noise\nplimsoll/a.TestEngines/oci: MAY NOT PASS BY A SECOND TRY: it said: leaktest.go:28: left behind:\n", "1 tests needed"},
		{"what passed may say it", "says .*left behind.*\n", "plimsoll/a.TestFine: 2 runs, 1 failures\n", "plimsoll/a.TestFine: noise\n", ""},
		{"what the second try said", "says .*PASS.*\n", again, "plimsoll/a.TestBusy: noise\nplimsoll/a.TestEngines/oci: noise\n", ""},
		{"a part doesn't match", "a\\.TestBu\nsays left behind\n", again, "plimsoll/a.TestBusy: noise\nplimsoll/a.TestEngines/oci: noise\n", ""},
		{"none", ".*\n", "", "", ""},
	} {
		dir := t.TempDir()
		refuse, log, report := filepath.Join(dir, "refuse"), filepath.Join(dir, "log"), filepath.Join(dir, "report")
		for path, s := range map[string]string{refuse: tt.refuse, log: againLog, report: tt.report} {
			if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := run(refuse, log, []string{report}, &out)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: run() = %v, want %q", tt.name, err, tt.err)
		}
		if out.String() != tt.out {
			t.Errorf("%s: output %q, want %q", tt.name, out.String(), tt.out)
		}
	}
}

func TestRunWithoutFiles(t *testing.T) {
	dir := t.TempDir()
	refuse, none, report := filepath.Join(dir, "refuse"), filepath.Join(dir, "none"), filepath.Join(dir, "report")
	if err := os.WriteFile(refuse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(refuse, none, []string{none}, &out); err != nil || out.Len() > 0 {
		t.Errorf("without a report: %v, %q, want nothing: no test failed", err, out.String())
	}
	if err := os.WriteFile(report, []byte("plimsoll/a.TestA: 2 runs, 1 failures\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(refuse, none, []string{report}, &out); !os.IsNotExist(err) {
		t.Errorf("without the log: %v, want not exist", err)
	}
	if err := run(none, none, []string{report}, &out); !os.IsNotExist(err) {
		t.Errorf("without the list: %v, want not exist", err)
	}
	if err := run("", none, []string{report}, &out); err == nil || !strings.Contains(err.Error(), "needed") {
		t.Errorf("without -refuse: %v, want what is needed", err)
	}
}
