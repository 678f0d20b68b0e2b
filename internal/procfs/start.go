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
	name := filepath.Join(root, strconv.Itoa(pid), "stat")
	b, err := os.ReadFile(name)
	if errors.Is(err, syscall.ESRCH) {
		// It ended between open and read.
		err = fs.ErrNotExist
	}
	if err != nil {
		return 0, err
	}
	state, ticks, err := parseStat(string(b))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if state == "Z" || state == "X" {
		return 0, fmt.Errorf("%s: the process has ended: %w", name, fs.ErrNotExist)
	}
	return ticks, nil
}

// parseStat reads fields 3 and 22 of proc_pid_stat(5). The second is a name in parentheses
// that may hold anything.
func parseStat(s string) (state string, ticks uint64, err error) {
	fields := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("%d fields are too few", len(fields))
	}
	ticks, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], ticks, err
}
