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
	"strings"
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
	state, flags, ticks, err := parseStat(string(b))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if state == "Z" || state == "X" || running && flags&exiting != 0 {
		return 0, fmt.Errorf("%s: the process has ended: %w", name, fs.ErrNotExist)
	}
	return ticks, nil
}

// parseStat reads fields 3, 9 and 22 of proc_pid_stat(5). The second is a name in parentheses
// that may hold anything.
func parseStat(s string) (state string, flags, ticks uint64, err error) {
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 20 {
		return "", 0, 0, fmt.Errorf("%d fields are too few", len(fields))
	}
	if flags, err = strconv.ParseUint(fields[6], 10, 64); err != nil {
		return "", 0, 0, err
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], flags, ticks, err
}
