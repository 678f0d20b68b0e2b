package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/report"
)

// identical is a plan whose places are three folders of one file system, DIR: a difference found between them is false.
const identical = `
name: identical
workloads:
  randread:  {rw: randread, bs: 4KiB, direct: true, size: 4MiB, runtime: 60ms}
  randwrite: {rw: randwrite, bs: 4KiB, iodepth: 8, direct: true, size: 4MiB, runtime: 60ms}
  append:    {kind: append, runtime: 60ms}
  wal:       {kind: wal, bs: 2300, runtime: 60ms}
  tree:      {kind: tree, count: 120, runtime: 60ms}
engines: [host]
places:
  a: {kind: dir, path: DIR/a}
  b: {kind: dir, path: DIR/b}
  c: {kind: dir, path: DIR/c}
baseline: {engine: host, place: a}
blocks: 6
`

// runIdentical makes a run of identical places, and returns its report. long is the default plan for a minute.
func runIdentical(t *testing.T, long bool) *report.Report {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	for _, place := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, place), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run", "-", "--json"}
	if long {
		places := strings.ReplaceAll("places={a: {kind: dir, path: DIR/a}, b: {kind: dir, path: DIR/b}, c: {kind: dir, path: DIR/c}}", "DIR", dir)
		args = []string{"run", "places", "--json", "--for", "1m", "--set", "engines=[host]", "--set", places, "--set", "baseline={engine: host, place: a}"}
	}
	r := plimsoll(t, t.Context(), dir, strings.ReplaceAll(identical, "DIR", dir), args...)
	if r.status != exitDone {
		t.Fatalf("it ended with %d: %s", r.status, r.stderr)
	}
	var doc struct{ Reports []*report.Report }
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || len(doc.Reports) != 1 {
		t.Fatalf("it has %d reports, %v", len(doc.Reports), err)
	}
	return doc.Reports[0]
}

// tallied is what the runs of identical places found.
type tallied struct {
	mu                            sync.Mutex
	runs, found, rows, equivalent int
}

// add counts what a run found.
func (n *tallied) add(t *testing.T, r *report.Report) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs++
	lied := 0
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			switch c.Kind {
			case report.Slower, report.Faster:
				t.Logf("run %d of %d blocks: %s %s is %s", n.runs, r.Run.Blocks, w.Name, c.Label, c.Verdict)
				lied = 1
			case report.Equivalent:
				n.equivalent++
			}
			if c.Stalls != nil && c.Stalls.Proven {
				t.Logf("run %d of %d blocks: %s %s stalls: %+v", n.runs, r.Run.Blocks, w.Name, c.Label, *c.Stalls)
				lied = 1
			}
			if c.Compared != nil && c.Kind != report.Control {
				n.rows++
			}
		}
	}
	n.found += lied
	t.Logf("%d runs, %d with a false find; of %d comparisons %d equivalent", n.runs, n.found, n.rows, n.equivalent)
}

// TestIdenticalPlaces runs a plan of identical places twice. A run has a false find if it calls
// one place faster or slower than another. The intervals of a run are simultaneous 95 % intervals, so
// at most one run in twenty should have a false find: two runs with one each happen once in 400 times.
func TestIdenticalPlaces(t *testing.T) {
	t.Parallel()
	needRun(t)
	var n tallied
	n.add(t, runIdentical(t, false))
	if n.found > 0 {
		n.add(t, runIdentical(t, false))
	}
	if want := n.runs * 5 * 2; n.rows != want {
		t.Errorf("%d comparisons, want %d", n.rows, want)
	}
	if n.found > 1 {
		t.Errorf("%d of %d runs called identical places different", n.found, n.runs)
	}
}

// TestIdenticalCampaign makes a hundred runs of a minute, two at once, beside a neighbour that writes to the same disk in bursts.
func TestIdenticalCampaign(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("a hundred minutes of measuring, two at once, with PLIMSOLL_CAMPAIGN=1")
	}
	needRun(t)
	const lanes, each = 2, 50
	ctx, cancel := context.WithCancel(t.Context())
	var bursts sync.WaitGroup
	dir := t.TempDir()
	bursts.Go(func() { neighbourInBursts(ctx, dir) })
	var n tallied
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane+1), func(t *testing.T) {
				t.Parallel()
				for range each {
					n.add(t, runIdentical(t, true))
				}
			})
		}
	})
	cancel()
	bursts.Wait()
	if n.found > 5 {
		t.Errorf("%d of %d runs called identical places different, want at most 5", n.found, n.runs)
	}
}

// neighbourInBursts writes with fio for 0.2 to 4 s at a time, with pauses of 0.1 to 6 s, until ctx ends.
func neighbourInBursts(ctx context.Context, dir string) {
	for ctx.Err() == nil {
		burst := 200 + rand.IntN(3800)
		cmd := exec.CommandContext(ctx, "fio", "--name=neighbour", "--filename="+filepath.Join(dir, "file"), "--size=256M", "--rw=randwrite", "--bs=16k",
			"--iodepth=16", "--ioengine=libaio", "--direct=1", "--time_based", fmt.Sprintf("--runtime=%dms", burst))
		_ = cmd.Run() // It is killed at the end.
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(100+rand.IntN(5900)) * time.Millisecond):
		}
	}
}
