// Package procfs tells processes apart by what /proc has of them. The kernel gives the number of one that ended to another, and a number
// together with the time at which its process started belongs to one process only, until the next boot.
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

// Start returns when a process of the procfs at root started, in clock ticks since boot. A zombie has ended,
// and only its parent has not asked yet: the error is fs.ErrNotExist then, as for one that is not there.
func Start(root string, pid int) (ticks uint64, err error) {
	return start(root, pid, false)
}

// Running is Start for one that still does something: a process on its way out has ended, too. The kernel takes it out of its
// groups before it is a zombie (do_exit in kernel/exit.c: cgroup_task_exit before exit_notify), but what it had open may
// still be so.
func Running(root string, pid int) (ticks uint64, err error) {
	return start(root, pid, true)
}

// exiting is PF_EXITING of include/linux/sched.h, which is set before anything is taken from the process.
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
