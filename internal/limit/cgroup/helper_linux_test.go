package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/leaktest"
)

// helperVariable makes the test binary a process to be limited.
const helperVariable = "PLIMSOLL_CGROUP_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) == "" {
		os.Exit(m.Run())
	}
	// The group is chosen before the work begins.
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := help(os.Args[1:]); err != nil {
		fmt.Println("error:", err)
	}
	os.Exit(0)
}

// help is the work of a helper: what it is, and its operands.
func help(args []string) error {
	switch args[0] {
	case "read", "write":
		return transfer(args[0], args[1], args[2], args[3])
	case "spin":
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
		}
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			return err
		}
		fmt.Println(time.Duration(u.Utime.Nano() + u.Stime.Nano()))
	case "fill":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		b := make([]byte, n)
		for i := 0; i < n; i += os.Getpagesize() {
			b[i] = 1
		}
		fmt.Println("filled", len(b))
	case "hold":
		h, err := Open(device.Host())
		if err != nil {
			return err
		}
		target, err := h.At(args[1])
		if err != nil {
			return err
		}
		_, err = h.Hold(target, Want{Change: limit.Change{Set: limit.Limits{CPUShares: 500}}})
		return err
	}
	return nil
}

// transfer reads or writes a device without the page cache, and prints how long that took.
func transfer(op, dev, total, block string) error {
	n, err := strconv.Atoi(total)
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(block)
	if err != nil {
		return err
	}
	fd, err := unix.Open(dev, unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// Direct I/O wants memory at the bounds of a block.
	b := make([]byte, size+4096)
	b = b[4096-int(uintptr(unsafe.Pointer(&b[0]))%4096):][:size]
	began := time.Now()
	for at := 0; at < n; at += size {
		if op == "read" {
			_, err = unix.Pread(fd, b, int64(at%(32<<20)))
		} else {
			_, err = unix.Pwrite(fd, b, int64(at%(32<<20)))
		}
		if err != nil {
			return err
		}
	}
	fmt.Println(time.Since(began))
	return nil
}

// A helper is a process that waits to be put into a group.
type helper struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newHelper(t *testing.T, credential *syscall.Credential, args ...string) *helper {
	t.Helper()
	h := &helper{t: t, cmd: exec.Command("/proc/self/exe", args...)}
	h.cmd.Env = append(os.Environ(), helperVariable+"=1", "GOMAXPROCS=1")
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Pdeathsig: syscall.SIGKILL}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	return h
}

// run lets it work and returns what it prints.
func (h *helper) run() (string, error) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, "\n"); err != nil {
		return "", err
	}
	line, err := h.out.ReadString('\n')
	if err == nil || errors.Is(err, io.EOF) {
		err = h.cmd.Wait()
	}
	return strings.TrimSpace(line), err
}

// duration is run for helpers that print one.
func (h *helper) duration() time.Duration {
	h.t.Helper()
	line, err := h.run()
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := time.ParseDuration(line)
	if err != nil {
		h.t.Fatal(line)
	}
	return d
}

// A lab is the machine's own groups, with a loop device to limit.
type lab struct {
	*testing.T
	host *Host
	own  *Own
	dev  string
	num  device.Number
}

// labs counts them, for their names.
var labs int

// newLab makes a group of the test's own for the controllers. It is nil where version 2's root doesn't hand
// one on, which is not the test's to change; Make has then been seen to say so.
func newLab(t *testing.T, cs ...hierarchy.Controller) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes control groups")
	}
	h, err := Open(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		if _, err := h.tree.Root(c); err != nil {
			t.Skipf("needs the %s controller: %v", c.V2, err)
		}
	}
	labs++
	name := fmt.Sprintf("plimsoll-test-cgroup-%d-%d", os.Getpid(), labs)
	leaktest.Check(t, name)
	own, err := h.Make(name, cs...)
	given := true
	for _, c := range cs {
		root, _ := h.tree.Root(c)
		given = given && root.ForChildren()
	}
	if !given {
		if !errors.Is(err, ErrNoController) || !strings.Contains(err.Error(), "cgroup.subtree_control does not list it; echo +") {
			t.Errorf("Make where a controller is not given = %v", err)
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, host: h, own: own}
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// loop makes the lab's device: 32 MiB, empty, without a scheduler.
func (l *lab) loop() {
	l.Helper()
	l.dev = disktest.Loop(l, disktest.Image(l, 32<<20), true)
	l.num = l.number(l.dev)
}

func (l *lab) number(dev string) device.Number {
	l.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dev, &st); err != nil {
		l.Fatal(err)
	}
	return device.NumberOf(uint64(st.Rdev))
}

// schedule chooses the device's scheduler until the end of the test.
func (l *lab) schedule(name string) {
	l.Helper()
	disktest.Schedule(l, l.dev, name)
}

// hold holds the lab's group and returns the writes.
func (l *lab) hold(w Want) int {
	l.Helper()
	n, err := l.host.Hold(l.own.Target, w)
	if err != nil {
		l.Fatal(err)
	}
	return n
}

// states reads the lab's groups.
func (l *lab) states() []State {
	l.Helper()
	s, err := l.host.Read(l.own.Target)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

// io reads or writes bytes of the device from within a group, its own or one below.
func (l *lab) io(below, op string, total, block int) time.Duration {
	l.Helper()
	h := newHelper(l.T, nil, op, l.dev, strconv.Itoa(total), strconv.Itoa(block))
	g, err := l.own.Group(hierarchy.IO)
	if err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, below, "cgroup.procs"), []byte(strconv.Itoa(h.cmd.Process.Pid)), 0); err != nil {
		l.Fatal(err)
	}
	return h.duration()
}

// free fails unless the I/O can be faster than in the time that a limit would take, which a busy machine may
// need some tries for.
func (l *lab) free(what string, limited time.Duration, io func() time.Duration) {
	l.Helper()
	var took time.Duration
	for range 10 {
		if took = io(); took < limited/2 {
			return
		}
	}
	l.Errorf("%s: took %v, which is as if it were limited (%v)", what, took, limited)
}

// limited fails if the I/O was faster than a limit lets it be: the first slices of 100 ms may be
// used up at once.
func (l *lab) limited(what string, limited, took time.Duration) {
	l.Helper()
	if took < limited*3/4 {
		l.Errorf("%s: took %v, and has to take %v under the limit", what, took, limited)
	}
}
