package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestLieVM: the program of a virtual machine answers for its disk. With cache=unsafe it flushes nothing of what the guest syncs; with
// writeback it keeps syncs, and reads from the host's page cache what the guest reads directly.
func TestLieVM(t *testing.T) {
	kernel := needVM(t)
	machine := func(name string) string {
		return fmt.Sprintf("{name: %s, kind: vm, accel: tcg, kernel: %q, disk_cache: %s}", name, kernel, name)
	}
	// Its own disk, of which nothing else flushes.
	_, dir := disktest.Disk(t, disktest.Options{Size: 1 << 30})
	r := plimsoll(t, t.Context(), dir, `
name: machines
workloads:
  wal: {kind: wal, runtime: 1s}
  randread: {rw: randread, bs: 16KiB, size: 8MiB, direct: true, runtime: 1s}
engines: [host, `+machine("unsafe")+", "+machine("writeback")+`]
baseline: {engine: host, place: dir}
blocks: 1
places: {dir: {}, layer: {}}
`, "run", "-")
	if r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	by := map[string][]record.Trial{}
	for _, tr := range trials {
		by[tr.Cell.Engine] = append(by[tr.Cell.Engine], tr)
	}
	for engine, want := range map[string]int{"unsafe": 1, "writeback": 0, "host": 0} {
		if n, of := lost(by[engine], "wal"); of == 0 || (n > 0) != (want > 0) {
			t.Errorf("%s: %d of %d trials are said to lose syncs: %+v", engine, n, of, by[engine])
		}
	}
	for _, c := range lastReport(t, dir).Workloads[0].Cells {
		if c.Engine == "unsafe" && !strings.Contains(c.Verdict, ", less safe") {
			t.Errorf("%q", c.Verdict)
		}
	}
	if n := doubted(by["writeback"], check.Cache, "of the machine's host beneath it. The page cache behind"); n == 0 {
		t.Errorf("the host's page cache is not seen: %+v", by["writeback"])
	}
}
