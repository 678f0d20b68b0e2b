// Package procfs reads processes from /proc and identifies them. The kernel reuses the number of a process that has ended. The
// number together with the process's start time identifies it until the next boot.
package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Start returns when a process of the procfs at root started, in clock ticks since boot. A zombie has ended, although its parent has
// not waited for it yet: the error is fs.ErrNotExist then, as for a process that doesn't exist.
func Start(root string, pid int) (ticks uint64, err error) {
	return start(root, pid, false)
}

// Running is Start for a process that is not exiting; for one that is, the error is fs.ErrNotExist. The kernel takes an exiting
// process out of its groups before it is a zombie (do_exit in kernel/exit.c: cgroup_task_exit before exit_notify), but its files may
// still be open.
func Running(root string, pid int) (ticks uint64, err error) {
	return start(root, pid, true)
}

// exiting is PF_EXITING of include/linux/sched.h. The kernel sets it before it takes anything from the process.
const exiting = 0x4

func start(root string, pid int, running bool) (ticks uint64, err error) {
	name := filepath.Join(root, strconv.Itoa(pid), "stat")
	b, err := os.ReadFile(name)
	if errors.Is(err, syscall.ESRCH) {
		// It ended between open and read.
		err = fs.ErrNotExist
	}
	if err != nil {
		return 0, err
	}
	s, err := ParseStat(string(b))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if s.State == "Z" || s.State == "X" || running && s.Flags&exiting != 0 {
		return 0, fmt.Errorf("%s: the process has ended: %w", name, fs.ErrNotExist)
	}
	return s.Start, nil
}
