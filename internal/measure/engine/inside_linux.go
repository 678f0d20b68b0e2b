package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/inroot"
)

// An Inside says where in a running container a worker works.
type Inside struct {
	// ID is unique among living sessions, and part of the name of the scratch folder. If the session is killed, the next
	// one sweeps its folder only if ID is two numbers, as in "123-456".
	ID string
	// Root is the container's root as the host sees it: "/proc/PID/root". "/" is the host's own.
	Root string
	// Dir is a folder of the container, as the container names it.
	Dir string
	// Groups are the folders of the control groups that the worker joins, one of each hierarchy.
	Groups []string
	// PID, if set, is the container's first process. When it ends, the worker leaves the groups and Ended, if set, is
	// called. Close then removes the groups, which the container's runtime could not while the worker was in them.
	PID   int
	Ended func()
	// Accept, if set, is called with the open Dir before anything is made in it, and may refuse it.
	Accept func(dir *os.File) error
}

// insidePrefix begins the names of scratch folders in containers.
const insidePrefix = FolderPrefix + "inside-"

// insideGrace is how long Close waits for a worker, whose writes may have to wait for a limit.
const insideGrace = 10 * time.Second

// OpenInside starts a worker that does its I/O in a folder of a running container and in its control groups, on the file
// systems that are mounted there and under the limits that hold there. state is Plimsoll's state folder.
//
// The worker does not enter the container's namespaces: it would have to trust what it finds in them, from the program
// loader to /proc, and its own program would have to be put there. It gets the open folder instead, which is found without
// following a link out of the container. I/O in that folder takes the same way to the same disk.
//
// The folder is removed with the session, and by the worker if this process is killed. If both are killed, the next session
// in the same Dir removes it. It is not in the journal: its path is the container's, which may have ended by the time a
// sweep reads the entry. A lock on the folder itself tells every Plimsoll, whatever its state folder, whether it is in use.
func OpenInside(ctx context.Context, state string, worker WorkerSource, spec Inside) (Session, error) {
	install := &Installer{Dir: filepath.Join(state, "cache"), Source: worker}
	exe, err := install.Install(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, StateFault(state, err)
	}
	base, err := inroot.Dir(spec.Root, spec.Dir)
	if err != nil {
		return nil, err
	}
	if spec.Accept != nil {
		if err := spec.Accept(base); err != nil {
			return nil, errors.Join(err, base.Close())
		}
	}
	s := &insideSession{base: base, name: insidePrefix + spec.ID}
	if err := s.make(); err != nil {
		return nil, errors.Join(err, base.Close())
	}
	s.Process, err = StartProcess([]string{exe, "agent", "--inside", s.name}, s.folder, s.base)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	// The same path would mean another folder on the host.
	s.info = Info{PID: s.Cmd.Process.Pid, HostPath: "/proc/self/fd/" + strconv.Itoa(int(s.folder.Fd()))}
	for _, dir := range spec.Groups {
		g, err := joinGroup(dir, s.info.PID)
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
		s.groups = append(s.groups, g)
	}
	if spec.PID > 0 {
		s.life, err = lifelineOf(spec.PID, func() {
			s.ended.Store(true)
			s.leave()
			if spec.Ended != nil {
				spec.Ended()
			}
		})
		if err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	return s, nil
}

// insideSession is an agent in a container that Plimsoll did not start.
type insideSession struct {
	*Process
	// folder is the scratch folder; name is its name in base.
	folder, base *os.File
	name         string
	info         Info
	groups       []joined
	life         *lifeline
	// ended is set when the container has ended.
	ended atomic.Bool
}

// Info implements Session.
func (s *insideSession) Info() Info { return s.info }

// make makes the scratch folder, and removes those of dead sessions beside it.
func (s *insideSession) make() error {
	s.sweep()
	dir := int(s.base.Fd())
	if err := eintr.Retry(func() error { return unix.Mkdirat(dir, s.name, 0o700) }); err != nil {
		return fmt.Errorf("make a scratch folder in %s: %w", s.base.Name(), err)
	}
	fd, err := openFolderAt(dir, s.name)
	if err != nil {
		return errors.Join(fmt.Errorf("open the scratch folder in %s: %w", s.base.Name(), err), eintr.Retry(func() error { return unix.Unlinkat(dir, s.name, unix.AT_REMOVEDIR) }))
	}
	s.folder = os.NewFile(uintptr(fd), s.name)
	// The lock lives as long as a process has the folder open: this one, the worker, or a trial. On a file system without
	// locks, leftover folders are not swept.
	err = lockFolder(fd)
	var st unix.Stat_t
	if errors.Is(err, unix.EWOULDBLOCK) || unix.Fstat(fd, &st) == nil && st.Nlink == 0 {
		return errors.Join(fmt.Errorf("another plimsoll has just removed the scratch folder in %s: try again", s.base.Name()), s.folder.Close())
	}
	if err := inroot.Mark(s.folder); err != nil {
		return errors.Join(err, inroot.Remove(s.folder, s.base, s.name), s.folder.Close())
	}
	return nil
}

// openFolderAt opens a folder in an open one. It refuses a link.
func openFolderAt(dir int, name string) (fd int, err error) {
	return eintr.Value(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
}

// lockFolder locks an open folder, unless another has it locked.
func lockFolder(fd int) error {
	return eintr.Retry(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
}

// insideName matches the scratch folders of sessions whose ID is a process id and a time. Others are not swept.
var insideName = regexp.MustCompile("^" + regexp.QuoteMeta(insidePrefix) + "[0-9]+-[0-9]+$")

// sweep removes scratch folders that no process has locked.
func (s *insideSession) sweep() {
	names, _ := s.base.Readdirnames(-1)
	for _, name := range names {
		if !insideName.MatchString(name) {
			continue
		}
		fd, err := openFolderAt(int(s.base.Fd()), name)
		if err != nil {
			continue
		}
		folder := os.NewFile(uintptr(fd), name)
		if lockFolder(fd) == nil && inroot.Marked(folder) {
			_ = inroot.Remove(folder, s.base, name)
		}
		folder.Close()
	}
}

// remove removes the scratch folder with its content.
func (s *insideSession) remove() error {
	err := inroot.Remove(s.folder, s.base, s.name)
	return errors.Join(err, s.folder.Close(), s.base.Close())
}

// leave takes the worker and its trial out of the groups.
func (s *insideSession) leave() {
	for _, g := range s.groups {
		g.leave(s.info.PID)
	}
}

// Close implements Session. A trial that waits for a limit can't be ended before the limit lets it go on, and its files
// can't be removed: a process that tries waits too, and can't be ended either. So the worker is left to do it when it can,
// even if this process has ended.
func (s *insideSession) Close(ctx context.Context) error {
	return s.CloseOnce(func() (err error) {
		if s.life != nil {
			s.life.close()
		}
		// The container isn't needed for the rest.
		s.leave()
		if s.finish(ctx) {
			err = s.remove()
		} else {
			err = errors.Join(fmt.Errorf("the worker (process %d) still waits for the disk, or for a limit; it ends and removes the scratch folder %s in %s as soon as it can go on: "+
				"raise or clear the limit to let it", s.info.PID, s.name, s.base.Name()), s.folder.Close(), s.base.Close())
		}
		if s.ended.Load() {
			for _, g := range s.groups {
				g.remove(ctx)
			}
		}
		return err
	})
}

// finish asks the worker to end, which stops its trial and removes its files. It reports whether the worker did.
func (s *insideSession) finish(ctx context.Context) bool {
	s.stdin.Close()
	defer s.stdout.Close()
	timer := time.NewTimer(insideGrace)
	defer timer.Stop()
	select {
	case <-s.Waited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
