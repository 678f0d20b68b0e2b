package trials

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
)

// TestRun: every engine that works here has its two rows and that of the layout, and one that
// doesn't has its reason. Nothing is left behind.
func TestRun(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	source := workertest.Source(t)
	if _, err := source("linux", "amd64"); err != nil { // Built before times are taken.
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, options{rounds: 2, docker: "unix:///nowhere/docker.sock", worker: source}); err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		name := strings.Trim(f[0], ",")
		lines[name]++
		if name == "overhead" || strings.Contains(line, "skipped: ") {
			continue
		}
		var least, most float64
		_, rest, _ := strings.Cut(line, " ms")
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%f ms .. %f ms", &least, &most); err != nil || least <= 0 || most < least {
			t.Errorf("%q: from %v to %v ms, %v", line, least, most, err)
		}
		if strings.Contains(line, "layout") {
			continue
		}
		if !strings.HasSuffix(strings.TrimSpace(line), "met") && !strings.HasSuffix(strings.TrimSpace(line), "MISSED") {
			t.Errorf("%q has no verdict", line)
		}
	}
	if lines["host"] != 3 || lines["docker"] != 1 || lines["oci"] < 1 {
		t.Errorf("rows %v, want three of the host, three of oci or its reason, and docker's reason:\n%s", lines, out.String())
	}
	if !strings.Contains(out.String(), "docker") || !strings.Contains(out.String(), "skipped: ") {
		t.Errorf("no reason why docker was skipped:\n%s", out.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left := leaktest.Find(tmp, fmt.Sprint("bench-", os.Getpid())); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, n := range []int{0, -1} {
		if err := run(t.Context(), io.Discard, options{rounds: n}); err == nil || !strings.Contains(err.Error(), "-rounds") {
			t.Errorf("rounds %d: %v", n, err)
		}
	}
}
