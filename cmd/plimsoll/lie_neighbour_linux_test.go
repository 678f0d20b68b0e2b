package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/testkit/disktest"
)

// disturb uses a folder's disk, around the page cache, until the end of the test: it reads and writes in turn.
func disturb(t *testing.T, folder string) {
	t.Helper()
	file := filepath.Join(folder, "neighbour")
	dd := func(args ...string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "dd", append(args, "bs=1M", "count=16", "status=none")...)
	}
	write := []string{"if=/dev/zero", "of=" + file, "oflag=direct", "conv=notrunc"}
	if out, err := dd(write...).CombinedOutput(); err != nil {
		t.Fatalf("dd: %v: %s", err, out)
	}
	untilEnd(t, func() bool {
		return dd("if="+file, "of=/dev/null", "iflag=direct").Run() == nil && dd(write...).Run() == nil
	})
}

// untilEnd calls do over and over beside the test, until that ends or do returns false. Its last call is over when the test is.
func untilEnd(t *testing.T, do func() bool) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if !do() {
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
}

// TestLieNeighbourBeneath: something else uses a disk below the one that a place stands on. Each level is watched, for reads, and for jobs
// that sync.
func TestLieNeighbourBeneath(t *testing.T) {
	needRun(t)
	blocks := 1
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		blocks = 4
	}
	plan := func(dir string) string {
		return `
name: neighbour
workloads:
  randread: {rw: randread, bs: 4KiB, size: 8MiB, direct: true, runtime: 400ms}
  randwrite: {rw: randwrite, bs: 4KiB, size: 8MiB, direct: true, runtime: 400ms}
  wal: {kind: wal, runtime: 400ms}
engines: [host]
blocks: ` + fmt.Sprint(blocks) + `
places: {dir: {kind: dir, path: ` + dir + `}}
`
	}
	// want runs the plan in dir while something else uses the disk of other, and wants a doubt that names its device.
	want := func(t *testing.T, dir, other, device string) {
		t.Helper()
		disturb(t, other)
		state := t.TempDir()
		if r := plimsoll(t, t.Context(), state, plan(dir), "run", "-"); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		_, trials := records(t, state)
		words := "that " + device + " moved in the window were not this worker's: something else was using the device"
		// On a busy machine the neighbour may get so few CPUs that it does next to nothing in a window.
		idle := 0
		for _, tr := range trials {
			layers, own := tr.Truth[0].Layers, tr.Truth[0].AppRead+tr.Truth[0].AppWritten
			if l := len(layers); l > 0 && doubtOf(tr, check.Neighbour, words) == "" && 2*(layers[l-1].Read+layers[l-1].Written) < 3*own {
				idle++
			}
		}
		if n := doubted(trials, check.Neighbour, words); n == 0 || n+idle < len(trials)-blocks {
			for _, tr := range trials {
				t.Logf("%s: %+v", tr.Cell.Workload, tr.Truth)
			}
			t.Errorf("%d of %d trials are said to have had a neighbour on %s", n, len(trials), device)
		}
	}
	bottom := func(t *testing.T, dir string) string {
		_, below := filepath.Split(strings.TrimSpace(disktest.Run(t, "findmnt", "--noheadings", "--output", "SOURCE", "--target", dir)))
		return below
	}
	var tests []subtest
	add := func(name string, run func(t *testing.T)) { tests = append(tests, subtest{name, run}) }
	add("on the disk below a loop device", func(t *testing.T) {
		_, dir := disktest.Disk(t, disktest.Options{Direct: true})
		other := t.TempDir()
		want(t, dir, other, bottom(t, other))
	})
	add("on the disk below a buffered loop device", func(t *testing.T) {
		_, dir := disktest.Disk(t, disktest.Options{})
		other := t.TempDir()
		want(t, dir, other, bottom(t, other))
	})
	add("on the disk below two loop devices", func(t *testing.T) {
		_, outer := disktest.Disk(t, disktest.Options{Direct: true, Size: 200 << 20})
		inner := disktest.Loop(t, disktest.ImageIn(t, outer, 100<<20), true)
		disktest.Format(t, inner, "ext4")
		other := t.TempDir()
		want(t, disktest.Mount(t, inner, "ext4", 0, ""), other, bottom(t, other))
	})
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		add(fmt.Sprintf("in the file system %s with the file of a loop device", kind), func(t *testing.T) {
			device, outer := disktest.Disk(t, disktest.Options{Kind: kind, Direct: true, Size: 500 << 20})
			inner := disktest.Loop(t, disktest.ImageIn(t, outer, 100<<20), true)
			disktest.Format(t, inner, "ext4")
			want(t, disktest.Mount(t, inner, "ext4", 0, ""), outer, filepath.Base(device))
		})
	}
	add("on the same file system", func(t *testing.T) {
		device, dir := disktest.Disk(t, disktest.Options{Direct: true})
		want(t, dir, dir, filepath.Base(device))
	})
	add("below an overlay", func(t *testing.T) {
		_, dir := disktest.Disk(t, disktest.Options{Direct: true})
		other := t.TempDir()
		want(t, disktest.Overlay(t, dir), other, bottom(t, other))
	})
	add("on another logical volume", func(t *testing.T) {
		disk := disktest.Loop(t, disktest.Image(t, 400<<20), true)
		group := disktest.LVM(t, disk)
		mine, theirs := group.Create(t, "mine", "--size", "100M"), group.Create(t, "theirs", "--size", "100M")
		disktest.Format(t, mine, "ext4")
		disktest.Format(t, theirs, "ext4")
		want(t, disktest.Mount(t, mine, "ext4", 0, ""), disktest.Mount(t, theirs, "ext4", 0, ""), filepath.Base(disk))
	})
	abreast(t, 3, tests)
}

// TestLieSmallNeighbour: something else does many small I/Os beside a job with large ones, on a disk that can do only so many I/Os a second. It has few of the
// bytes.
func TestLieSmallNeighbour(t *testing.T) {
	needRun(t)
	_, dir := disktest.Disk(t, disktest.Options{Direct: true})
	if out, err := exec.Command("fio", "--name=lay", "--filename="+filepath.Join(dir, "small"), "--size=16m", "--rw=write", "--bs=1m", "--direct=1").CombinedOutput(); err != nil {
		t.Fatalf("fio: %v: %s", err, out)
	}
	small := exec.Command("fio", "--name=small", "--thread", "--filename="+filepath.Join(dir, "small"), "--size=16m", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio",
		"--iodepth=16", "--rate_iops=800", "--time_based", "--runtime=60", "--output=/dev/null")
	if err := small.Start(); err != nil {
		t.Fatal(err)
	}
	defer small.Wait()
	defer small.Process.Kill()
	const plan = `
name: small
workloads: {large: {rw: randread, bs: 256KiB, size: 16MiB, direct: true, iodepth: 4, io_engine: io_uring, rate_iops: 400, runtime: 800ms}}
engines: [host]
blocks: 3
places: {dir: {kind: dir, path: %s}}
`
	state := t.TempDir()
	if r := plimsoll(t, t.Context(), state, fmt.Sprintf(plan, dir), "run", "-"); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, state)
	if n := doubted(trials, check.Neighbour, "I/Os that loop"); n < len(trials)-1 {
		for _, tr := range trials {
			t.Logf("%+v %+v", tr.Truth, tr.Warnings)
		}
		t.Errorf("%d of %d trials are said to have had a neighbour", n, len(trials))
	}
}
