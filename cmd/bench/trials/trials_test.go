package trials

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
)

// TestRow: the median of an even number of times is between the two in the middle, and
// it decides.
func TestRow(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		times  []time.Duration
		target time.Duration
		want   string
	}{
		{[]time.Duration{7 * ms}, 7 * ms, "x 7.0 ms 7.0 ms - 7.0 ms <= 7.0 ms met"},
		{[]time.Duration{30 * ms, 10 * ms, 20 * ms}, 19 * ms, "x 20.0 ms 10.0 ms - 30.0 ms <= 19.0 ms MISSED"},
		{[]time.Duration{40 * ms, 10 * ms, 20 * ms, 12 * ms}, 16 * ms, "x 16.0 ms 10.0 ms - 40.0 ms <= 16.0 ms met"},
		// Without a target there is nothing to meet.
		{[]time.Duration{3 * ms, 5 * ms}, 0, "x 4.0 ms 3.0 ms - 5.0 ms"},
	} {
		var b bytes.Buffer
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		row(w, "x", tt.times, tt.target)
		w.Flush()
		if got := strings.Join(strings.Fields(b.String()), " "); got != tt.want {
			t.Errorf("row(%v) = %q, want %q", tt.times, got, tt.want)
		}
	}
}

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
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%f ms - %f ms", &least, &most); err != nil || least <= 0 || most < least {
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
