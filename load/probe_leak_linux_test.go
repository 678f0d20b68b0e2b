package load

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// pinned returns how many KiB of this process's memory devices may write to: the registered buffers of a ring, until the ring is
// gone.
func pinned(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmPin:"))
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil {
		t.Skipf("needs VmPin in /proc/self/status: %v", err)
	}
	return n
}

// TestProbesLeaveNoRing: a ring that is registered with its thread outlives its descriptor, until the thread ends.
func TestProbesLeaveNoRing(t *testing.T) {
	needEngine(t, IOUring)
	dir := t.TempDir()
	// The test's thread does not end, so a ring that is left stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := pinned(t)
	for range 5 {
		ProbeEngines(dir)
	}
	for range 200 {
		if pinned(t) <= before {
			return
		}
		time.Sleep(50 * time.Millisecond) // The kernel takes rings down in the background.
	}
	t.Errorf("%d KiB are pinned after the probes, %d before: rings are left", pinned(t), before)
}

// TestRingGoesBeforeItsThread: a closed ring holds no file, although its thread runs on, as the first thread of a process does after
// its goroutine. So the disk of the file can be unmounted.
func TestRingGoesBeforeItsThread(t *testing.T) {
	needEngine(t, IOUring)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := disktest.Tmpfs(t, "size=2m")
	if err := tryOps(IOUring, zeros(t, dir, 1<<20), false, opWrite, opRead); err != nil {
		t.Fatal(err)
	}
	if err := disktest.Unmount(dir); err != nil {
		t.Errorf("unmount after the ring was closed: %v", err)
	}
}

// TestProbeOfADevice: the engine for a device is chosen by reading the device. No file is made in the folder of its node.
func TestProbeOfADevice(t *testing.T) {
	needEngine(t, IOUring)
	dev := disktest.Loop(t, disktest.Image(t, 1<<20), false)
	var st unix.Stat_t
	if err := unix.Stat(dev, &st); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	node := filepath.Join(dir, "node")
	if err := unix.Mknod(node, unix.S_IFBLK|0o600, int(st.Rdev)); err != nil {
		t.Skipf("needs CAP_MKNOD: %v", err)
	}
	if f, err := os.Open(node); err != nil {
		t.Skipf("needs a folder with devices: %v", err)
	} else {
		f.Close()
	}
	old := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	for _, rw := range []string{RandRead, RandWrite} {
		r := prepare(t, Job{RW: rw, Filename: node, NumberIOs: 1, Direct: true})
		if got := r.Job().IOEngine; got != IOUring || len(r.notes) > 0 {
			t.Errorf("%s: the engine is %s, notes %q", rw, got, r.notes)
		}
	}
	if st, err := os.Stat(dir); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("something was made in the folder of the device's node: %v", err)
	}
}

// TestProbeWithoutAFolderToWrite: if no scratch file can be made, the file itself is read.
func TestProbeWithoutAFolderToWrite(t *testing.T) {
	needEngine(t, IOUring)
	dir := disktest.Tmpfs(t, "size=2m")
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	disktest.Remount(t, dir, unix.MS_RDONLY)
	if r := prepare(t, Job{RW: RandRead, Filename: path, NumberIOs: 1}); r.Job().IOEngine != IOUring {
		t.Errorf("the engine is %s, notes %q", r.Job().IOEngine, r.notes)
	}
	// A removed file proves nothing.
	r := &Run{job: Job{RW: RandRead, Filename: filepath.Join(dir, "gone")}}
	if got := r.strongest(); got != PSync || len(r.notes) != 1 || !strings.Contains(r.notes[0], "psync") {
		t.Errorf("the engine is %s, notes %q; want psync and why", got, r.notes)
	}
}

// TestBuffersBeyondOnePiece: the kernel takes at most 1 GiB as one buffer, so more is registered in pieces.
func TestBuffersBeyondOnePiece(t *testing.T) {
	needEngine(t, IOUring)
	defer func(n int64) { registerMost = n }(registerMost)
	registerMost = 50 << 10 // Three segments of 16 KiB; no multiple of one.
	path := zeros(t, t.TempDir(), 4<<20)
	r := prepare(t, Job{RW: RandWrite, BS: 16 << 10, IODepth: 16, Filename: path, IOEngine: IOUring, Verify: true})
	e := r.threads[0].async.(*ring)
	if e.readOp != opcodeReadFixed || e.perPiece != 3 || len(r.notes) > 0 {
		t.Errorf("%d segments in a registered buffer, notes %q; want 3 and none", e.perPiece, r.notes)
	}
	if res, err := r.Start(t.Context(), nil); err != nil || res.Ops() != 256 {
		t.Fatalf("%d writes, %v", res.Ops(), err)
	}
	if res := start(t, Job{RW: RandRead, BS: 16 << 10, IODepth: 16, Filename: path, IOEngine: IOUring, Verify: true}); res.Ops() != 256 {
		t.Errorf("%d reads", res.Ops())
	}
}

// TestBlockBeyondOnePiece: blocks that are larger than one of the kernel's buffers are not registered, and the note says so.
func TestBlockBeyondOnePiece(t *testing.T) {
	needEngine(t, IOUring)
	defer func(n int64) { registerMost = n }(registerMost)
	registerMost = 8 << 10
	path := zeros(t, t.TempDir(), 1<<20)
	r := prepare(t, Job{RW: RandRead, BS: 16 << 10, IODepth: 4, Filename: path, IOEngine: IOUring})
	const want = "a block takes 16384 bytes of memory, and the kernel takes 8192 at most as one buffer"
	if len(r.notes) != 1 || !strings.Contains(r.notes[0], want) {
		t.Errorf("notes %q, want %q", r.notes, want)
	}
	if res, err := r.Start(t.Context(), nil); err != nil || res.Ops() != 64 || res.Buffers != BuffersPlain {
		t.Errorf("%d reads with %s buffers, %v", res.Ops(), res.Buffers, err)
	}
}

// TestNoteNamesTheRefusal: the note names the cause of the buffers' refusal.
func TestNoteNamesTheRefusal(t *testing.T) {
	for errno, want := range map[error]string{unix.ENOMEM: "RLIMIT_MEMLOCK is ", unix.EFAULT: "bad address"} {
		r := &ring{readOp: opcodeRead}
		if !errors.As(errno, &r.refused) || !strings.Contains(r.note(), want) {
			t.Errorf("%v: %q", errno, r.note())
		}
	}
}
