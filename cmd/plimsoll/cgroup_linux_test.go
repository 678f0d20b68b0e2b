package main

import (
	"os"
	"testing"

	"plimsoll/internal/measure/record"
)

// direct writes straight to the disk, in a container of its own, as fast as it can
// with a third of a CPU.
const direct = `
name: direct
workloads:
  write: {rw: write, bs: 64KiB, direct: true, size: 4MiB}
  busy: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 500ms}
engines: [oci]
places: {bind: {}}
limits: {third: {cpus: 0.3, memory: 128MiB}}
baseline: {engine: oci, place: bind}
blocks: 1
`

// TestRunCgroup: what the kernel charged to the container's group is in the
// record, by the version of control groups that the machine has.
func TestRunCgroup(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, direct, "run", "-"); r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	version := 1
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		version = 2
	}
	_, trials := records(t, dir)
	if len(trials) == 0 {
		t.Fatal("no trials")
	}
	for _, tr := range trials {
		if tr.Status != record.Done || tr.Where[0].CgroupVersion != version {
			t.Errorf("%s: %s, cgroup version %d, want %d", tr.Key, tr.Status, tr.Where[0].CgroupVersion, version)
		}
		switch got := tr.Truth[0].CgroupWritten; {
		case tr.Cell.Workload == "busy":
			// Beside heavy other work it may not get to a third of a CPU.
			if th := tr.Results[0].Throttled; th.Periods == 0 && tr.Results[0].Starved < 0.3 {
				t.Errorf("%s: a third of a CPU, and it was never stopped: %+v", tr.Key, th)
			}
		case version == 1 && got == -1:
			// Version 1 counts only on disks that ever had a limit, since Linux 6.10.
		case got < 4<<20:
			t.Errorf("%s: %d bytes were charged to the group, want the 4 MiB that were written", tr.Key, got)
		}
	}
	checkClean(t, dir)
}
