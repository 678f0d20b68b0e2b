package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// doubted reports in how many of the trials a check has a doubt with the words.
func doubted(trials []record.Trial, check, words string) int {
	n := 0
	for _, t := range trials {
		if slices.ContainsFunc(t.Warnings, func(w record.Warning) bool {
			return w.Check == check && w.Severity == record.Doubt && strings.Contains(w.Text, words)
		}) {
			n++
		}
	}
	return n
}

// lastReport is the report of the newest run of a state folder.
func lastReport(t *testing.T, dir string) *report.Report {
	t.Helper()
	r := plimsoll(t, t.Context(), dir, "", "report", "last", "--format", "json")
	var doc struct{ Reports []*report.Report }
	if err := json.Unmarshal([]byte(r.stdout), &doc); r.status != exitDone || err != nil || len(doc.Reports) != 1 {
		t.Fatalf("status %d, %v: %.200s%s", r.status, err, r.stdout, r.stderr)
	}
	return doc.Reports[0]
}

// answerOf is a place's answer, and where it stands among the others.
func answerOf(t *testing.T, r *report.Report, place string) (report.Answer, int) {
	t.Helper()
	i := slices.IndexFunc(r.Answers, func(a report.Answer) bool { return a.Place == place })
	if i < 0 {
		t.Fatalf("no answer on %s: %+v", place, r.Answers)
	}
	return r.Answers[i], i
}

// wantInMemory fails unless a place that looks like a disk is called memory, in each trial, each verdict, the answer and the overview.
func wantInMemory(t *testing.T, dir, place string) {
	t.Helper()
	_, trials := records(t, dir)
	mine := byPlace(trials)[place]
	if n := doubted(mine, check.Cache, "This place looks like a disk, but is memory"); len(mine) == 0 || n != len(mine) {
		t.Errorf("%d of %d trials are called memory; the first's warnings are %+v, and it was on %+v", n, len(mine), mine[0].Warnings, mine[0].Where)
	}
	r := lastReport(t, dir)
	a, at := answerOf(t, r, place)
	if !a.Memory || !strings.HasPrefix(a.Text, "memory, not storage: ") {
		t.Errorf("the answer is %q, in memory: %v", a.Text, a.Memory)
	}
	if a.Overall.Known() {
		t.Errorf("the answer has a figure: %+v", a.Overall)
	}
	if disk, before := answerOf(t, r, "disk"); disk.Memory || before > at {
		t.Errorf("the disk is number %d, in memory: %v; the place in memory is number %d", before, disk.Memory, at)
	}
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			if c.Place == place && (!strings.Contains(c.Verdict, ", in memory") || !c.Doubt) {
				t.Errorf("%s: %q, in doubt: %v", w.Name, c.Verdict, c.Doubt)
			}
		}
	}
	text := plimsoll(t, t.Context(), dir, "", "report", "last").stdout
	if !strings.Contains(text, place+", in memory") {
		t.Errorf("the overview doesn't say that %s is memory:\n%s", place, text)
	}
}

// besidePlan measures places, each with its keys, beside a folder that is the baseline.
func besidePlan(workloads, baseline, folder string, places map[string]string) string {
	plan := fmt.Sprintf("name: beside\nworkloads:%s\nengines: [host]\nbaseline: {engine: host, place: %s}\nblocks: 1\nplaces:\n  %s: {kind: dir, path: %s}\n",
		workloads, baseline, baseline, folder)
	for name, keys := range places {
		plan += fmt.Sprintf("  %s: {kind: dir, %s}\n", name, keys)
	}
	return plan
}

// memoryPlan measures places beside a folder of the machine's disk.
func memoryPlan(disk string, places map[string]string) string {
	return besidePlan(`
  wal: {kind: wal, runtime: 150ms}
  randread: {rw: randread, bs: 4KiB, size: 4MiB, direct: true, number_ios: 500}`, "disk", disk, places)
}

// TestLieMemoryDisk: memory is presented as a disk in every way that there is, and called memory.
func TestLieMemoryDisk(t *testing.T) {
	t.Parallel()
	needRun(t)
	at := func(dir string) string { return "path: " + dir }
	places := map[string]string{}
	_, loop := disktest.Disk(t, disktest.Options{Memory: true})
	_, direct := disktest.Disk(t, disktest.Options{Memory: true, Direct: true})
	_, squeezed := disktest.Disk(t, disktest.Options{Kind: "btrfs", Memory: true, Mount: "compress-force=zstd"})
	_, outer := disktest.Disk(t, disktest.Options{Memory: true, Size: 200 << 20})
	inner := disktest.Loop(t, disktest.ImageIn(t, outer, 100<<20), true)
	disktest.Format(t, inner, "ext4")
	zram := disktest.Zram(t, 100<<20)
	disktest.Format(t, zram, "ext4")
	places["loop"], places["direct-loop"], places["btrfs-compressing"] = at(loop), at(direct), at(squeezed)
	places["loop-in-loop"], places["zram"] = at(disktest.Mount(t, inner, "ext4", 0, "")), at(disktest.Mount(t, zram, "ext4", 0, ""))
	for name, device := range map[string]string{
		"relative-overlay": disktest.Loop(t, disktest.ImageIn(t, disktest.RelativeOverlay(t), 100<<20), false),
		"memfd":            disktest.MemfdLoop(t, 100<<20),
		"other-namespace":  disktest.ElsewhereLoop(t, "100M"),
		"detached":         disktest.DetachedLoop(t, 100<<20),
	} {
		disktest.Format(t, device, "ext4")
		places[name] = at(disktest.Mount(t, device, "ext4", 0, ""))
	}
	places["overlay"] = at(disktest.Overlay(t, disktest.Tmpfs(t, "size=400m")))
	places["overlay-on-loop"] = at(disktest.Overlay(t, outer))
	dir := t.TempDir()
	if r := plimsoll(t, t.Context(), dir, memoryPlan(t.TempDir(), places), "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	for _, name := range []string{"loop", "direct-loop", "btrfs-compressing", "loop-in-loop", "zram", "overlay", "overlay-on-loop", "relative-overlay", "memfd", "other-namespace"} {
		t.Run(name, func(t *testing.T) { wantInMemory(t, dir, name) })
	}
	t.Run("detached", func(t *testing.T) {
		_, trials := records(t, dir)
		mine := byPlace(trials)["detached"]
		if n := doubted(mine, check.Cache, "The figure may be the speed of memory"); n != len(mine) || n == 0 {
			t.Errorf("of %d trials, %d may be memory's; the first's warnings are %+v", len(mine), n, mine[0].Warnings)
		}
		if n, _ := lost(mine, "wal"); n > 0 || doubted(mine, check.Cache, "beneath it") > 0 {
			t.Errorf("another disk is said to be beneath: %+v", mine[0].Warnings)
		}
	})
	t.Run("own_device", func(t *testing.T) {
		state := disktest.Tmpfs(t, "size=300m")
		if r := plimsoll(t, t.Context(), state, memoryPlan(t.TempDir(), map[string]string{"own": "own_device: 64MiB"}), "run", "-"); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		wantInMemory(t, state, "own")
	})
	t.Run("block device", func(t *testing.T) {
		raw := disktest.Loop(t, disktest.ImageIn(t, disktest.Tmpfs(t, "size=64m"), 16<<20), true)
		state := t.TempDir()
		if r := plimsoll(t, t.Context(), state, "", "fio", "--name=j", "--filename="+raw, "--rw=randread", "--bs=4k", "--direct=1", "--number_ios=200", "--size=8m", "--record"); r.status != exitDone {
			t.Fatalf("status %d: %s%s", r.status, r.stdout, r.stderr)
		}
		if _, trials := records(t, state); doubted(trials, check.Cache, "looks like a disk, but is memory") == 0 {
			t.Errorf("%+v on %+v", trials[0].Warnings, trials[0].Where)
		}
	})
}

// TestLieMemoryDocker: a daemon keeps its volumes and layers on a disk that is memory.
func TestLieMemoryDocker(t *testing.T) {
	needRun(t)
	_, loop := disktest.Disk(t, disktest.Options{Memory: true, Size: 1 << 30})
	disk := t.TempDir()
	t.Setenv("TMPDIR", loop)
	setVariable(t, "DOCKER_HOST", dockertest.Start(t).Host)
	dir := filepath.Join(disk, "state")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plan := `
name: memory
workloads:
  wal: {kind: wal, runtime: 150ms}
engines: [host, docker]
baseline: {engine: host, place: disk}
blocks: 2
places:
  disk: {kind: dir, path: ` + disk + `}
  layer: {}
  volume: {}
`
	if r := plimsoll(t, t.Context(), dir, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	for _, place := range []string{"layer", "volume"} {
		t.Run(place, func(t *testing.T) { wantInMemory(t, dir, place) })
	}
}
