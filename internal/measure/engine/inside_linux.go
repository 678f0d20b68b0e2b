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

// An Inside says where in a running container a worker is to work.
type Inside struct {
	// ID is unique among living sessions; the name of the scratch folder is made from it. What a session leaves that was
	// killed is swept by the next only if it is two numbers, as in "123-456".
	ID string
	// Root is the container's root as the host sees it: "/proc/PID/root". "/" is the host's own.
	Root string
	// Dir is a folder of the container, as the container names it.
	Dir string
	// Groups are the folders of the control groups that the worker joins, one of each hierarchy.
	Groups []string
	// PID, if set, is the container's first process. When it ends, the worker leaves the groups, Ended is called, if that is
	// set, and Close removes the groups that the container's runtime could not: somebody was in them.
	PID   int
	Ended func()
	// Accept, if set, is asked with the open Dir before anything is made in it.
	Accept func(dir *os.File) error
}

// insidePrefix begins the names of scratch folders in containers.
const insidePrefix = FolderPrefix + "inside-"

// insideGrace is how long a worker is waited for: what it has sent to the disk may have to wait for a limit.
const insideGrace = 10 * time.Second

// OpenInside starts a worker that does its I/O in a folder of a running container and in its control
// groups, on the file systems that are mounted there and under the limits that hold there. state is
// Plimsoll's state folder.
//
// The worker does not enter the container's namespaces: it would have to trust what it finds
// in them, from the program loader to /proc, and its own program would have to be put there. It
// is given the open folder instead, which is found without following a link out of the
// container; what is done in that goes the same way to the same disk.
//
// The folder is gone with the session, and with the worker if this process is killed. One that
// both left because both were killed is removed by the next session in the same Dir.
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
	// A path of the container's would mean something else here.
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

// insideSession is an agent in a container that isn't Plimsoll's.
type insideSession struct {
	*Process
	// folder is the scratch folder, name its name in base.
	folder, base *os.File
	name         string
	info         Info
	groups       []joined
	life         *lifeline
	// ended is set when the container has.
	ended atomic.Bool
}

// Info implements Session.
func (s *insideSession) Info() Info { return s.info }

// make makes the scratch folder, and removes what dead sessions left beside it.
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
	// The lock lives as long as anybody has the folder open: this process, the worker, a trial.
	// A file system without locks has folders that nobody sweeps.
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

// openFolderAt opens a folder of an open one, no link.
func openFolderAt(dir int, name string) (fd int, err error) {
	return eintr.Value(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
}

// lockFolder locks an open folder, unless another has it locked.
func lockFolder(fd int) error {
	return eintr.Retry(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
}

// insideName are names of scratch folders. Other IDs than those of a process's number and a time are not swept.
var insideName = regexp.MustCompile("^" + regexp.QuoteMeta(insidePrefix) + "[0-9]+-[0-9]+$")

// sweep removes scratch folders that nobody holds.
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

// remove removes the scratch folder with what is in it.
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

// Close implements Session. A trial that waits for a limit can't be ended before it is let through, and what it works on
// can't be removed: whoever tries waits with it, and can't be ended either. So that is left to the worker, which
// does it when it can, whatever has become of this process.
func (s *insideSession) Close(ctx context.Context) error {
	return s.CloseOnce(func() (err error) {
		if s.life != nil {
			s.life.close()
		}
		// What is left to do is no business of the container's any more.
		s.leave()
		if s.finish(ctx) {
			err = s.remove()
		} else {
			err = errors.Join(fmt.Errorf("the worker (process %d) still waits for the disk, or for a limit; it ends and removes the scratch folder %s in %s as soon as it is let through: "+
				"raising or clearing the limit lets it", s.info.PID, s.name, s.base.Name()), s.folder.Close(), s.base.Close())
		}
		if s.ended.Load() {
			for _, g := range s.groups {
				g.remove(ctx)
			}
		}
		return err
	})
}

// finish has the worker end, which stops its trial and removes its files, and reports whether it did.
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
