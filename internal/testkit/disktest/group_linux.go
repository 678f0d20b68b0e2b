package disktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
)

// A Group is the folder of a control group of the test's own.
type Group string

// groupPrefix begins the name of every group.
const groupPrefix = "plimsoll-test-"

// groups numbers the groups of this process.
var groups atomic.Int64

// NewGroup makes a group below another, such as the root of a hierarchy, and removes it at the end of the test. Its processes must
// have ended by then.
func NewGroup(t testing.TB, parent string) Group {
	t.Helper()
	needRoot(t, "makes a control group")
	dir := filepath.Join(parent, fmt.Sprintf(groupPrefix+"%d-%d", os.Getpid(), groups.Add(1)))
	leaktest.Check(t, dir)
	noteGroup(t, dir)
	if err := os.Mkdir(dir, 0o755); errors.Is(err, unix.EROFS) || errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("needs a control group that can be written: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := patiently(func() error { return unix.Rmdir(dir) }); err != nil && err != unix.ENOENT {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return Group(dir)
}

// NewBlkioGroup makes a group of version 1's block controller, in which a test can limit a device.
func NewBlkioGroup(t testing.TB) Group {
	t.Helper()
	const root = "/sys/fs/cgroup/blkio"
	if _, err := os.Stat(root + "/blkio.throttle.read_iops_device"); err != nil {
		t.Skip("needs the blkio controller of cgroup v1")
	}
	return NewGroup(t, root)
}

// Put writes to one of the group's files.
func (g Group) Put(file, text string) error {
	return os.WriteFile(filepath.Join(string(g), file), []byte(text), 0)
}

// Add moves a process and all of its threads into the group.
func (g Group) Add(pid int) error { return g.Put("cgroup.procs", strconv.Itoa(pid)) }

// Run runs a command and its children in the group until the test ends.
func (g Group) Run(t testing.TB, argv ...string) *exec.Cmd {
	t.Helper()
	return g.run(t, 0, argv)
}

// RunApart is Run in a new mount namespace, as a container has one.
func (g Group) RunApart(t testing.TB, argv ...string) *exec.Cmd {
	t.Helper()
	return g.run(t, syscall.CLONE_NEWNS, argv)
}

func (g Group) run(t testing.TB, namespaces uintptr, argv []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `read go; exec "$@"`, "sh"}, argv...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: namespaces}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	return cmd
}

// Churn makes and removes groups below the group, as a container that starts and ends jobs does, until the returned function
// is called or the test ends. Each group lives for up to six times step, and pause passes before the next. Calls at the same
// time need different names.
func (g Group) Churn(t testing.TB, name string, step, pause time.Duration) (stop func()) {
	t.Helper()
	var over atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; !over.Load(); i++ {
			below := filepath.Join(string(g), fmt.Sprintf("%s%d", name, i))
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(i%7) * step)
			if err := os.Remove(below); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(pause)
		}
	})
	stop = func() { over.Store(true); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// Number returns a device's number in the controllers' format: "7:0".
func Number(t testing.TB, device string) string {
	t.Helper()
	b, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/dev")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// NodeNumber is Number for a device's node, whose name need not be the kernel's.
func NodeNumber(t testing.TB, node string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(node, &st); err != nil {
		t.Fatalf("%s: %v", node, err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
}
