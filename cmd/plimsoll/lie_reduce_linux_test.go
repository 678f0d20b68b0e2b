package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestLieDeduplicating: storage keeps equal blocks once, so that writing what it has already costs nothing. No trial writes a block that it or another
// trial wrote before. Where a job asks for such blocks, the trial says what that does.
func TestLieDeduplicating(t *testing.T) {
	t.Parallel()
	needRun(t)
	fs := disktest.NewDedupFS(t, 2<<30)
	plan := `
name: dedup
workloads:
  random: {rw: randwrite, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 300}
  sequential: {rw: write, bs: 64KiB, direct: true, size: 2MiB}
  verified: {rw: randwrite, bs: 4KiB, direct: true, size: 3MiB, verify: crc32c}
  small-log: {kind: wal, runtime: 100ms}
  log: {kind: wal, bs: 8192, runtime: 100ms}
  repeating: {rw: randwrite, bs: 4KiB, iodepth: 4, direct: true, size: 4MiB, number_ios: 500, dedupe_percentage: 60}
engines: [host]
places: {dir: {path: ` + fs.Dir + `}}
blocks: 1 # The A/A control does all once more.
`
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		reduced := slices.IndexFunc(tr.Warnings, func(w record.Warning) bool { return w.Check == check.Compressible })
		asked := tr.Cell.Workload == "repeating"
		if (reduced >= 0) != asked || asked && !strings.Contains(tr.Warnings[reduced].Text, "deduplication) kept the rest, which the job's dedupe_percentage makes possible") {
			t.Errorf("%s: %+v, %+v", tr.Cell.Workload, tr.Warnings, tr.Truth)
		}
	}
	for n := range 2 {
		line := fmt.Sprintf("fio --name=a --rw=randwrite --bs=4k --size=1m --direct=1 --filename=%s/line-%d", fs.Dir, n)
		if r := plimsoll(t, t.Context(), dir, "", strings.Fields(line)...); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
	}
	for name, file := range map[string]string{
		"the same line of fio twice": "line-",
		"random":                     "block-1048576.", "sequential": "block-2097152.", "verified": "block-3145728.", "logs": "wal.log",
	} {
		// The others write hundreds. How much a log gets done in its time depends on the machine.
		if written, kept := fs.Count(file); written < 20 || kept != written {
			t.Errorf("%s: of %d blocks of 4 KiB that were written, the storage had %d already", name, written, written-kept)
		}
	}
	if written, kept := fs.Count("block-4194304."); kept == written {
		t.Errorf("%d blocks were written, and no two were alike", written)
	}
}
