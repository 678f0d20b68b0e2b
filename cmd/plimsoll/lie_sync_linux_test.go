package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// noSyncs makes the test binary one whose syncs, and its children's, are answered and not done: see swallowSyncs.
const noSyncs = "PLIMSOLL_TEST_NO_SYNCS"

// roomy is the size of a disk that a log of 64 MiB and its file system's own fit into, in bytes: syncs that do nothing fill a smaller one at once.
const roomy = 400 << 20

// swallowSyncs has the kernel answer fsync and fdatasync of this process and its children without doing anything, as
// systemd-nspawn --suppress-sync does.
func swallowSyncs() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	jump := func(nr uint32, to uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: to, K: nr}
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // The number of the call is the first word (seccomp(2)).
		jump(unix.SYS_FSYNC, 2), jump(unix.SYS_FDATASYNC, 1),
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}

// syncPlan measures commits in folders beside one that is safe.
func syncPlan(safe string, folders map[string]string) string {
	places := map[string]string{}
	for name, dir := range folders {
		places[name] = "path: " + dir
	}
	return besidePlan(`
  wal: {kind: wal, runtime: 200ms}
  dsync: {rw: randwrite, bs: 4KiB, size: 4MiB, direct: true, sync: dsync, number_ios: 200}
  randread: {rw: randread, bs: 4KiB, size: 4MiB, direct: true, number_ios: 500}`, "safe", safe, places)
}

// lost counts the trials of a workload in which a warning says that what was synced may be lost.
func lost(trials []record.Trial, workload string) (n, of int) {
	for _, t := range trials {
		if t.Cell.Workload != workload {
			continue
		}
		of++
		if slices.ContainsFunc(t.Warnings, func(w record.Warning) bool { return w.Unsafe && w.Severity == record.Doubt }) {
			n++
		}
	}
	return n, of
}

// wantLessSafe fails unless a place that loses syncs is called less safe in each of its trials that sync, in their verdicts, in the answer and in the
// overview, and comes after the safe ones.
func wantLessSafe(t *testing.T, dir, place string, workloads ...string) {
	t.Helper()
	_, trials := records(t, dir)
	mine := byPlace(trials)[place]
	for _, w := range workloads {
		if n, of := lost(mine, w); n != of || of == 0 {
			t.Errorf("%s: %d of %d trials are said to lose syncs; the first: %+v, %+v", w, n, of, mine[0].Warnings, mine[0].Truth)
		}
	}
	if n, _ := lost(mine, "randread"); n > 0 {
		t.Error("reads are said to lose syncs")
	}
	r := lastReport(t, dir)
	a, at := answerOf(t, r, place)
	if !slices.Equal(a.Unsafe, workloads) {
		t.Errorf("less safe are %q, want %q", a.Unsafe, workloads)
	}
	if !strings.HasPrefix(a.Text, "less safe: ") || a.Overall.Known() {
		t.Errorf("the answer is %q with %+v, want it less safe without a figure", a.Text, a.Overall)
	}
	if _, safe := answerOf(t, r, "safe"); safe > at {
		t.Errorf("the place is number %d, before the safe one, %d", at, safe)
	}
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			if c.Place == place && strings.Contains(c.Verdict, ", less safe") != slices.Contains(workloads, w.Name) {
				t.Errorf("%s: %q", w.Name, c.Verdict)
			}
		}
	}
	for _, format := range []string{"text", "md", "html"} {
		if r := plimsoll(t, t.Context(), dir, "", "report", "last", "--format", format); !strings.Contains(r.stdout, place+", less safe") {
			t.Errorf("%s: the overview doesn't say that %s is less safe:\n%.4000s", format, place, r.stdout)
		}
	}
}

// wantOption fails unless each trial of a log in a place is in doubt by a mount option, whatever was counted.
func wantOption(t *testing.T, dir, place string) {
	t.Helper()
	_, trials := records(t, dir)
	for _, trial := range byPlace(trials)[place] {
		if trial.Cell.Workload == "wal" && !slices.ContainsFunc(trial.Warnings, func(w record.Warning) bool { return strings.Contains(w.Text, " answered syncs without a flush") }) {
			t.Errorf("no doubt by a mount option: %+v", trial.Warnings)
		}
	}
}

// wantSafe fails if a place that keeps what it is asked to is said to lose syncs.
func wantSafe(t *testing.T, dir, place string) {
	t.Helper()
	_, trials := records(t, dir)
	for _, w := range []string{"wal", "dsync"} {
		if n, of := lost(byPlace(trials)[place], w); n > 0 || of == 0 {
			t.Errorf("%s on %s: %d of %d trials are said to lose syncs: %+v", w, place, n, of, byPlace(trials)[place][0].Warnings)
		}
	}
	if a, _ := answerOf(t, lastReport(t, dir), place); len(a.Unsafe) > 0 {
		t.Errorf("%+v", a)
	}
}

// TestLieSync: syncs that flush nothing are lost in every way that there is, and the place that is faster for it is called less safe.
func TestLieSync(t *testing.T) {
	needRun(t)
	mounted := func(kind, options string) string {
		_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Direct: true, Mount: options, Size: roomy})
		return dir
	}
	safe := mounted("ext4", "")
	_, under := disktest.Disk(t, disktest.Options{Direct: true, Size: 2 * roomy, Mount: "nobarrier"})
	loop := disktest.Loop(t, disktest.ImageIn(t, under, roomy), true)
	disktest.Format(t, loop, "ext4")
	upper := mounted("ext4", "")
	for _, dir := range []string{"upper", "work", "lower"} {
		mustDo(t, os.Mkdir(filepath.Join(upper, dir), 0o755))
	}
	volatile := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work,volatile", upper)
	lying := map[string]string{
		"nobarrier":            mounted("ext4", "nobarrier"),
		"barrier-0":            mounted("ext4", "barrier=0"),
		"btrfs-nobarrier":      mounted("btrfs", "nobarrier"),
		"beneath-a-loop":       disktest.Mount(t, loop, "ext4", 0, ""),
		"overlay-on-nobarrier": disktest.Overlay(t, mounted("ext4", "nobarrier")),
		"overlay-volatile":     disktest.Mount(t, "overlay", "overlay", 0, volatile),
		"fuse-ignoring-syncs":  disktest.BindFS(t, mounted("ext4", ""), true),
		"told-write-through":   toldWriteThrough(t),
		"journal-in-memory":    journalInMemory(t, "ext4"),
		"log-in-memory":        journalInMemory(t, "xfs"),
		"loop-on-fuse":         loopOn(t, disktest.BindFS(t, mounted("ext4", ""), true)),
	}
	honest := map[string]string{
		"btrfs": mounted("btrfs", ""), "xfs": mounted("xfs", ""), "fuse": disktest.BindFS(t, mounted("ext4", ""), false), "overlay": disktest.Overlay(t, mounted("ext4", "")),
		"disk": t.TempDir(), "loop-on-honest-fuse": loopOn(t, disktest.BindFS(t, mounted("ext4", ""), false)),
	}
	_, honest["buffered-loop"] = disktest.Disk(t, disktest.Options{Size: roomy})
	all := map[string]string{}
	for _, places := range []map[string]string{lying, honest} {
		for name, path := range places {
			all[name] = path
		}
	}
	var dir string
	// Which disk is beneath a FUSE file system is not known, so the flushes of all count. Those of other tests may pass for its own,
	// which proves nothing: three runs are tried.
	for try := 0; try < 3; try++ {
		dir = t.TempDir()
		if r := plimsoll(t, t.Context(), dir, syncPlan(safe, all), "run", "-"); r.status != exitDone {
			t.Fatalf("status %d: %s", r.status, r.stderr)
		}
		_, trials := records(t, dir)
		if n, of := lost(byPlace(trials)["fuse-ignoring-syncs"], "wal"); n == of {
			break
		}
	}
	for name := range lying {
		workloads := []string{"wal", "dsync"}
		if name == "fuse-ignoring-syncs" {
			workloads = workloads[:1] // eatmydata leaves O_DSYNC as it is.
		}
		t.Run(name, func(t *testing.T) {
			wantLessSafe(t, dir, name, workloads...)
			// Too few flushes would tell on a quiet disk, too; beside another program that flushes, the option alone does.
			if byOption := strings.Contains(name, "barrier") || strings.Contains(name, "volatile") || name == "beneath-a-loop"; byOption {
				wantOption(t, dir, name)
			}
		})
	}
	honest["safe"] = safe
	for name := range honest {
		t.Run("honest "+name, func(t *testing.T) { wantSafe(t, dir, name) })
	}
}

// toldWriteThrough mounts a disk that is set to have no cache to flush (Documentation/ABI/stable/sysfs-block, queue/write_cache), while it has one.
func toldWriteThrough(t *testing.T) string {
	t.Helper()
	loop := disktest.Loop(t, disktest.Image(t, roomy), true)
	say := func(cache string) {
		mustDo(t, os.WriteFile(filepath.Join("/sys/block", filepath.Base(loop), "queue/write_cache"), []byte(cache), 0))
	}
	say("write through")
	t.Cleanup(func() { say("write back") }) // The kernel keeps it for the next file.
	disktest.Format(t, loop, "ext4")
	return disktest.Mount(t, loop, "ext4", 0, "")
}

// journalInMemory mounts a file system on a disk, whose journal is on a loop device over tmpfs.
func journalInMemory(t *testing.T, kind string) string {
	t.Helper()
	journal := disktest.Loop(t, disktest.ImageIn(t, disktest.Mount(t, "tmpfs", "tmpfs", 0, ""), 128<<20), false)
	disk := disktest.Loop(t, disktest.Image(t, roomy), true)
	if kind == "xfs" {
		disktest.Format(t, disk, kind, "-l", "logdev="+journal+",size=64m")
		return disktest.Mount(t, disk, kind, 0, "logdev="+journal)
	}
	disktest.Run(t, "mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "journal_dev", journal)
	disktest.Format(t, disk, kind, "-b", "4096", "-J", "device="+journal)
	return disktest.Mount(t, disk, kind, 0, "")
}

// loopOn mounts a file system on a loop device whose file is in a folder.
func loopOn(t *testing.T, folder string) string {
	t.Helper()
	loop := disktest.Loop(t, disktest.ImageIn(t, folder, 100<<20), false)
	disktest.Format(t, loop, "ext4")
	return disktest.Mount(t, loop, "ext4", 0, "")
}

// TestLieSyncSwallowed: the calls themselves are answered by a filter, and never reach the file system.
func TestLieSyncSwallowed(t *testing.T) {
	needRun(t)
	_, safe := disktest.Disk(t, disktest.Options{Direct: true, Size: 1 << 30})
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "-", "--only", "workload=wal", "--state", dir)
	cmd.Env = append(os.Environ(), asPlimsoll+"=1", noSyncs+"=1")
	cmd.Stdin = strings.NewReader(syncPlan(safe, nil))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, trials := records(t, dir)
	if n, of := lost(trials, "wal"); n != of || of == 0 {
		t.Errorf("%d of %d trials are said to lose syncs: %+v", n, of, trials[0].Warnings)
	}
}
