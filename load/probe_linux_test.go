package load

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain serves as the child of tests that restrict their whole process.
func TestMain(m *testing.M) {
	var serve func(dir string) (any, error)
	switch os.Getenv("LOAD_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "seccomp":
		serve = probeWithoutRings
	case "memlock":
		serve = readWithoutMemlock
	case "frozen":
		serve = runFrozen
	}
	out, err := serve(os.Getenv("LOAD_TEST_DIR"))
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(3)
	}
	json.NewEncoder(os.Stdout).Encode(out)
	os.Exit(0)
}

// restricted runs the child called name and decodes its answer. It skips the test if the restriction can't be set.
func restricted(t *testing.T, name string, answer any) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOAD_TEST_CHILD="+name, "LOAD_TEST_DIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) && e.ExitCode() == 3 {
			t.Skipf("needs %s: %s", name, e.Stderr)
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatal(err)
	}
}

// A refusal is the result in a process without io_uring.
type refusal struct {
	Probes []Probe
	// Prepare is the error for a job that requires io_uring, Chosen the engine of one that doesn't.
	Prepare string
	Chosen  string
}

func probeWithoutRings(dir string) (any, error) {
	path := filepath.Join(dir, "f")
	if _, err := Layout(context.Background(), path, 1<<20, LayoutOptions{}); err != nil {
		return nil, err
	}
	if err := forbidRings(); err != nil {
		return nil, err
	}
	a := refusal{Probes: ProbeEngines(dir)}
	_, err := Prepare(Job{RW: Read, NumJobs: 2, Filename: path, IOEngine: IOUring})
	var e *EngineError
	if errors.As(err, &e) {
		a.Prepare = err.Error()
	}
	r, err := Prepare(Job{RW: Read, Filename: path})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a.Chosen = r.Job().IOEngine
	return a, nil
}

// readWithoutMemlock reads with io_uring like an unprivileged process that may lock little memory.
func readWithoutMemlock(dir string) (any, error) {
	path := filepath.Join(dir, "f")
	if _, err := Layout(context.Background(), path, 1<<20, LayoutOptions{}); err != nil {
		return nil, err
	}
	// 64 KiB, an old default, is enough for the rings.
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		// The kernel counts locked memory by user, and the rings of root's containers beside this test take from the same 64 KiB. So
		// the child is a user of its own, without CAP_IPC_LOCK.
		user := 1_900_000_000 + os.Getpid()
		if err := errors.Join(os.Chown(path, user, -1), os.Chmod(filepath.Dir(dir), 0o711), syscall.Setuid(user)); err != nil {
			return nil, err
		}
	}
	r, err := Prepare(Job{RW: RandRead, BS: 16384, IODepth: 8, Filename: path, IOEngine: IOUring})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Start(context.Background(), nil)
}

func TestRingWithoutMemlock(t *testing.T) {
	needEngine(t, IOUring)
	var res Result
	restricted(t, "memlock", &res)
	if res.Ops() != 64 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "RLIMIT_MEMLOCK is 65536 bytes") {
		t.Errorf("%d I/Os, notes %q; want 64 and one about memlock", res.Ops(), res.Notes)
	}
	if res.Buffers != BuffersPlain {
		t.Errorf("Buffers = %q, want %q", res.Buffers, BuffersPlain)
	}
}

// forbidRings installs a seccomp filter that answers io_uring_setup with EPERM, as
// Docker's default profile does.
func forbidRings() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: sysRingSetup},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

func TestProbeNamesSeccomp(t *testing.T) {
	var got refusal
	restricted(t, "seccomp", &got)
	if !strings.Contains(got.Prepare, "I/O engine io_uring: a seccomp filter forbids") || got.Chosen != PSync {
		t.Errorf("Prepare = %q, and %q was chosen instead, want psync for buffered I/O", got.Prepare, got.Chosen)
	}
	for _, p := range got.Probes {
		if p.Engine == IOUring {
			if p.OK || !strings.Contains(p.Reason, "seccomp filter forbids io_uring_setup (Seccomp: 2") {
				t.Errorf("io_uring under the filter: %+v", p)
			}
		} else if !p.OK {
			t.Errorf("%s under the filter: %+v", p.Engine, p)
		}
	}
}

func TestProbeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	probes := ProbeEngines(dir)
	if len(probes) != 4 || !probes[3].OK || !probes[2].OK {
		t.Errorf("probes = %+v", probes)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, p := range ProbeEngines(dir + "/none") {
		if p.OK != (p.Engine == Null) || (!p.OK && !strings.Contains(p.Reason, "no such file")) {
			t.Errorf("probe of a missing folder: %+v", p)
		}
	}
}

func TestReasonsNameTheCause(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		unix.ENOSYS: "the kernel has no io_uring",
		unix.ENOMEM: "RLIMIT_MEMLOCK is ",
		unix.EMFILE: "no file descriptor",
		unix.EINVAL: "invalid argument",
	} {
		if err := ringError(errno); !strings.Contains(err.Error(), want) || !errors.Is(err, errno) {
			t.Errorf("ringError(%v) = %v, want %q", errno, err, want)
		}
	}
	for errno, want := range map[syscall.Errno]string{
		unix.EAGAIN: "fs.aio-max-nr=",
		unix.ENOSYS: "the kernel has no io_setup",
		unix.EPERM:  "io_setup",
	} {
		if err := aioError("io_setup", errno); !strings.Contains(err.Error(), want) || !errors.Is(err, errno) {
			t.Errorf("aioError(%v) = %v, want %q", errno, err, want)
		}
	}
}
