package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/host/procfs"
)

// start returns when a process started, as procfs.Running does: an exiting process has left its groups.
func (f *Finder) start(pid int) (uint64, error) { return procfs.Running(f.opt.Proc, pid) }

// Alive returns nil if t's process still runs, else a *GoneError. A target without a process on this machine is alive.
func (f *Finder) Alive(t Target) error {
	if t.PID == 0 {
		return nil
	}
	ticks, err := f.start(t.PID)
	if err != nil {
		return f.gone(t, err)
	}
	if ticks != t.StartTime {
		return &GoneError{Target: t, Reused: true}
	}
	return nil
}

// unseen returns why a container's first process is not visible although its engine says that it runs.
func (f *Finder) unseen(pid int) string {
	if len(procfs.Threads(f.opt.Proc, pid)) > 0 {
		return fmt.Sprintf("the main thread of its first process %d has ended, so the kernel shows neither its control groups nor its files: name its group and a folder (cgroup:GROUP --path FOLDER)", pid)
	}
	return "its process is not visible from here: run plimsoll in the host's PID namespace"
}

// gone returns an error that says why /proc has no readable entry of t's process.
func (f *Finder) gone(t Target, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return &GoneError{Target: t}
	}
	return fmt.Errorf("%s: %w", t.title(), err)
}

// adopt makes pid the process of t, and reports whether that process exists and is the container's. ticks is its start time
// according to the engine. If it is 0, the process must be in a group of the container's own.
func (f *Finder) adopt(t *Target, pid int, ticks uint64) (bool, error) {
	now, err := f.start(pid)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	if ticks != 0 && ticks != now {
		return false, nil
	}
	t.PID, t.StartTime = pid, now
	groups, err := f.Groups(*t)
	var gone *GoneError
	if errors.As(err, &gone) || err == nil && ticks == 0 && !own(groups) {
		t.PID, t.StartTime = 0, 0
		return false, nil
	}
	t.Groups = groups
	return err == nil, err
}

// startedAbout reports whether a process that started at ticks may be the one that an engine started at a time (RFC 3339). It allows
// a few seconds, since an engine takes the time a little later, and the clock may have been set since.
func (f *Finder) startedAbout(ticks uint64, at string) bool {
	told, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join(f.opt.Proc, "stat"))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), "\nbtime ")
	word, _, _ := strings.Cut(after, "\n")
	boot, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return false
	}
	began := time.Unix(boot, 0).Add(time.Duration(ticks) * (time.Second / userHZ))
	return began.Sub(told).Abs() <= 5*time.Second
}

// userHZ is the number of clock ticks a second in /proc, on all machines that Docker supports (include/asm-generic/param.h,
// USER_HZ).
const userHZ = 100

// own reports whether any of groups is a container's own.
func own(groups []Group) bool {
	for _, g := range groups {
		if !g.Shared {
			return true
		}
	}
	return false
}
