package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/disktest"
)

// A holding is how a test keeps processes from going on for a while.
type holding func(t *testing.T, agent, trial int, pause time.Duration)

// bySignal stops processes and lets them go on.
func bySignal(pids ...int) func(time.Duration) {
	return func(pause time.Duration) {
		for _, p := range pids {
			_ = unix.Kill(p, unix.SIGSTOP)
		}
		time.Sleep(pause)
		for _, p := range pids {
			_ = unix.Kill(p, unix.SIGCONT)
		}
	}
}

// byTracer attaches to all threads of a process, as a debugger does.
func byTracer(t *testing.T, pid int, pause time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var held []int
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		if err := unix.PtraceAttach(id); err != nil {
			continue // It has ended.
		}
		var ws unix.WaitStatus
		if _, err := unix.Wait4(id, &ws, unix.WALL, nil); err == nil {
			held = append(held, id)
		}
	}
	if len(held) == 0 {
		t.Error("no thread could be traced")
	}
	time.Sleep(pause)
	for _, id := range held {
		if err := unix.PtraceDetach(id); err != nil && err != syscall.ESRCH {
			t.Errorf("detach: %v", err)
		}
	}
}

// freezer makes a group whose freezer the test has.
func freezer(t *testing.T, version int) (g disktest.Group, file, on, off string) {
	t.Helper()
	if version == 1 {
		return disktest.NewGroup(t, "/sys/fs/cgroup/freezer"), "freezer.state", "FROZEN", "THAWED"
	}
	return disktest.NewGroup(t, controllerRoot(t, hierarchy.Unified).Dir), "cgroup.freeze", "1", "0"
}

// join puts processes into a group, and reports whether it could: one that has ended meanwhile is not to be held any more.
func join(t *testing.T, g disktest.Group, pids ...int) bool {
	t.Helper()
	for _, p := range pids {
		switch err := g.Add(p); {
		case errors.Is(err, unix.ESRCH):
			return false
		case err != nil:
			t.Fatal(err)
		}
	}
	return true
}

// byFreezerAbove freezes the group above a process's, with version 2: that freezes all below it.
func byFreezerAbove(t *testing.T, _, trial int, pause time.Duration) {
	g, file, on, off := freezer(t, 2)
	if !join(t, disktest.NewGroup(t, string(g)), trial) {
		return
	}
	if err := g.Put(file, on); err != nil {
		t.Fatal(err)
	}
	time.Sleep(pause)
	if err := g.Put(file, off); err != nil {
		t.Fatal(err)
	}
}

// byFreezer freezes processes with a group of a version.
func byFreezer(version int, whom func(agent, trial int) []int) holding {
	return func(t *testing.T, agent, trial int, pause time.Duration) {
		g, file, on, off := freezer(t, version)
		if !join(t, g, whom(agent, trial)...) {
			return
		}
		if err := g.Put(file, on); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
		if err := g.Put(file, off); err != nil {
			t.Fatal(err)
		}
	}
}

// swapFile lends the machine some swap.
func swapFile(t *testing.T) {
	t.Helper()
	needRun(t)
	path := filepath.Join(t.TempDir(), "swap")
	if err := os.WriteFile(path, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	disktest.Run(t, "mkswap", path)
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
		t.Skipf("needs swap: %v", errno)
	}
	t.Cleanup(func() {
		if _, _, errno := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
			t.Errorf("swapoff: %v", errno)
		}
	})
}

// pageOut takes all private memory of a process away once (MADV_PAGEOUT).
func pageOut(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // It has ended.
	}
	defer unix.Close(fd)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		var from, to uint64
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access); n != 3 || !strings.HasPrefix(access, "rw") {
			continue
		}
		iov := [2]uint64{from, to - from} // struct iovec of another process
		if _, _, errno := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1, unix.MADV_PAGEOUT, 0, 0); errno == unix.ENOSYS || errno == unix.EPERM {
			return errno
		}
	}
	return nil
}
