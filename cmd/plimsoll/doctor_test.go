package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/doctor"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/testkit/texttest"
)

// doctorRun runs the command in process.
func doctorRun(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	status = a.run(t.Context(), append([]string{"doctor"}, args...))
	return status, out.String(), errs.String()
}

// needWorker skips where the worker was not built into the test: without it no
// engine can measure, and doctor says so.
func needWorker(t *testing.T) {
	t.Helper()
	if _, err := workerbin.Bytes(runtime.GOOS, runtime.GOARCH); err != nil {
		t.Skipf("needs the worker: %v", err)
	}
}

func TestDoctorText(t *testing.T) {
	needWorker(t)
	parent := t.TempDir()
	state := filepath.Join(parent, "state")
	status, out, errs := doctorRun(t, "--state", state)
	if status != exitDone || errs != "" {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	texttest.Has(t, out, []string{"\nmeasure\n", "\nlimit\n", "\nprovide\n", "  ok      I/O engine psync", "state folder " + state})
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("doctor left %v, %v: it only looks", left, err)
	}
}

func TestDoctorJSON(t *testing.T) {
	needWorker(t)
	status, out, errs := doctorRun(t, "--json", "--state", t.TempDir())
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitDone || errs != "" {
		t.Fatalf("status %d, stderr %q, JSON: %v", status, errs, err)
	}
	if len(r.Items) == 0 || r.Machine.CPUs == 0 {
		t.Errorf("report = %+v, want items and a machine", r)
	}
}
