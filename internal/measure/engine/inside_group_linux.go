package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hierarchy"
)

// A joined group is a control group that a worker was moved into.
type joined struct {
	dir string
	// inode tells the folder from a later one of the same name.
	inode uint64
}

// joinGroup moves a process with its threads into a control group.
func joinGroup(dir string, pid int) (joined, error) {
	err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		// Version 2: a group whose children have controllers holds no processes.
		return joined{}, fmt.Errorf("control group %s takes no process: it has groups of its own below it; name one of those", dir)
	case errors.Is(err, os.ErrNotExist):
		return joined{}, fmt.Errorf("control group %s is gone: did the container end?", dir)
	case errors.Is(err, os.ErrPermission):
		return joined{}, fmt.Errorf("join control group %s: %w; run as root, or as the user who owns the group", dir, err)
	case err != nil:
		return joined{}, fmt.Errorf("join control group %s: %w", dir, err)
	}
	return joined{dir, hierarchy.Inode(dir)}, nil
}

// leave moves the processes of a process group to the root of the hierarchy, as far as the caller may. A process that waits
// for a limit moves, too. It has to wait as long as before, but the container's group is free.
func (g joined) leave(pgid int) {
	top := g.dir
	for {
		up := filepath.Dir(top)
		if _, err := os.Stat(filepath.Join(up, "cgroup.procs")); err != nil {
			break
		}
		top = up
	}
	if top == g.dir {
		return
	}
	// A trial may start processes meanwhile.
	for range 3 {
		b, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
		if err != nil {
			return
		}
		for _, text := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			if of, err := unix.Getpgid(pid); err == nil && of == pgid {
				_ = os.WriteFile(filepath.Join(top, "cgroup.procs"), []byte(text), 0)
			}
		}
	}
}

// remove removes the group of a container that has ended, if it still exists and is empty. The container's runtime couldn't
// remove it while the worker was in it, and doesn't try for long.
func (g joined) remove(ctx context.Context) {
	for end := time.Now().Add(groupPatience); hierarchy.Inode(g.dir) == g.inode; time.Sleep(20 * time.Millisecond) {
		// rmdir removes only a group without processes.
		if unix.Rmdir(g.dir) == nil || time.Now().After(end) || ctx.Err() != nil {
			return
		}
	}
}

// groupPatience is how long the last processes of a container that has ended may take to end.
const groupPatience = 2 * time.Second

// A lifeline reports when a container's first process has ended.
type lifeline struct {
	fd   int
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// lifelineOf waits for the end of a process and then calls ended once, from another goroutine.
func lifelineOf(pid int, ended func()) (*lifeline, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d is gone: did the container end?", pid)
	}
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	l := &lifeline{fd: fd, quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
			switch {
			case err == nil && n > 0:
				ended()
				return
			case err != nil && !errors.Is(err, unix.EINTR):
				return
			}
			select {
			case <-l.quit:
				return
			default:
			}
		}
	}()
	return l, nil
}

// close ends the waiting. After it, ended is not called.
func (l *lifeline) close() {
	l.once.Do(func() {
		close(l.quit)
		<-l.done
		unix.Close(l.fd)
	})
}
