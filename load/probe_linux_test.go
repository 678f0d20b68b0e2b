package load

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain serves as the child of TestProbeNamesSeccomp.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LOAD_TEST_SECCOMP"); dir != "" {
		if err := forbidRings(); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(3)
		}
		json.NewEncoder(os.Stdout).Encode(ProbeEngines(dir))
		os.Exit(0)
	}
	os.Exit(m.Run())
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
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOAD_TEST_SECCOMP="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) && e.ExitCode() == 3 {
			t.Skipf("needs seccomp filters: %s", e.Stderr)
		}
		t.Fatal(err)
	}
	var probes []Probe
	if err := json.Unmarshal(out, &probes); err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
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
