package target

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/procfs"
)

// watch implements source. Each folder on the way to the runtime's files has an inotify watch. Each process that is found has a file
// descriptor that reports its end.
func (s *tree) watch(ctx context.Context, send func(Event)) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		send(Event{Type: Lost, Source: s.what(), Err: fmt.Errorf("inotify: %w", err)})
		return
	}
	// Go's poller waits for a non-blocking file, and Close ends its Read.
	file := os.NewFile(uintptr(fd), "inotify")
	defer file.Close()
	defer context.AfterFunc(ctx, func() { file.Close() })()
	w := &treeWatch{tree: s, ctx: ctx, send: send, fd: fd, nodes: map[int32]treeNode{}, running: map[procfs.Process]bool{}, busy: make(chan struct{}, inspectors)}
	defer w.wg.Wait()
	w.first = true
	w.begin()
	w.first = false
	buf := make([]byte, 64<<10)
	for {
		n, err := file.Read(buf)
		if err != nil {
			if ctx.Err() == nil {
				send(Event{Type: Lost, Source: s.what(), Err: fmt.Errorf("inotify: %w", err)})
			}
			return
		}
		w.events(buf[:n])
	}
}

// A treeWatch is a tree that is watched.
type treeWatch struct {
	*tree
	ctx  context.Context
	send func(Event)
	fd   int
	// nodes are the watched folders, by the kernel's number of the watch.
	nodes map[int32]treeNode
	// rooted is whether root is watched, and not only a folder above it.
	rooted bool
	// first is set during the first look: containers that run already are not reported.
	first bool
	// complained is whether an event has said that no more folders can be watched.
	complained bool
	// busy bounds how many containers' labels are requested at a time.
	busy chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	running map[procfs.Process]bool
}

// A treeNode is a folder; the level of root is 0, and of a folder above it -1.
type treeNode struct {
	path  string
	level int
}

// mask has entries that appear in a folder, and the folder's removal.
const mask = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// begin watches root, or while root doesn't exist the nearest folder above it.
func (w *treeWatch) begin() {
	for range 10 {
		err := w.add(w.root, 0)
		if err == nil {
			connected := w.noteRoot()
			if connected && !w.first {
				w.connected() // Before the containers that the look reports.
			}
			err = w.look(w.root, 0)
			if connected && w.first && !missing(err) {
				w.connected() // A container that starts from now on is reported. The look reports none.
			}
		}
		if !missing(err) {
			if err != nil {
				w.complain(err)
			}
			return
		}
		w.rooted = false
		// No container ran in a folder that didn't exist: any that is found in it now has just started.
		w.first = false
		above := filepath.Dir(w.root)
		for ; above != filepath.Dir(above); above = filepath.Dir(above) {
			if w.add(above, -1) == nil {
				break
			}
		}
		if w.stillMissing(above) {
			return
		}
	}
}

// missing reports whether a folder isn't there, or is none any more.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

func (w *treeWatch) connected() { w.send(Event{Type: Connected, Source: w.what()}) }

// noteRoot notes that root is watched, and reports whether that is new.
func (w *treeWatch) noteRoot() bool {
	if w.rooted {
		return false
	}
	w.rooted = true
	for wd, n := range w.nodes {
		if n.level < 0 {
			// Other entries there no longer matter.
			unix.InotifyRmWatch(w.fd, uint32(wd))
			delete(w.nodes, wd)
		}
	}
	return true
}

// stillMissing reports whether the folder below above on the way to root is missing: it may have been made just before above was
// watched.
func (w *treeWatch) stillMissing(above string) bool {
	rel, err := filepath.Rel(above, w.root)
	if err != nil {
		return true
	}
	part := rel
	for filepath.Dir(part) != "." {
		part = filepath.Dir(part)
	}
	_, err = os.Stat(filepath.Join(above, part))
	return err != nil
}

// add watches a folder.
func (w *treeWatch) add(dir string, level int) error {
	wd, err := unix.InotifyAddWatch(w.fd, dir, mask)
	if err != nil {
		return &fs.PathError{Op: "watch", Path: dir, Err: err}
	}
	w.nodes[int32(wd)] = treeNode{dir, level}
	return nil
}

// look looks at the entries that a watched folder has already.
func (w *treeWatch) look(dir string, level int) error {
	if level == len(w.levels) {
		if _, err := os.Stat(filepath.Join(dir, w.file)); err == nil {
			w.seen(dir)
		}
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			w.enter(dir, e.Name(), level)
		}
	}
	return nil
}

// enter watches a subfolder if its name matches.
func (w *treeWatch) enter(dir, name string, level int) {
	if ok, _ := path.Match(w.levels[level], name); !ok {
		return
	}
	below := filepath.Join(dir, name)
	err := w.add(below, level+1)
	if err == nil {
		err = w.look(below, level+1)
	}
	if err != nil && !missing(err) {
		w.complain(err)
	}
}

// complain reports once that not everything can be watched.
func (w *treeWatch) complain(err error) {
	if w.complained {
		return
	}
	w.complained = true
	switch {
	case errors.Is(err, unix.ENOSPC):
		err = fmt.Errorf("no more folders can be watched, so containers may start unseen; raise the limit: sysctl fs.inotify.max_user_watches=1048576: %w", err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("this user may not read it; run as root: %w", err)
	}
	w.send(Event{Type: Lost, Source: w.what(), Err: err})
}

// events processes the bytes of one Read: records of inotify(7), struct inotify_event.
func (w *treeWatch) events(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(b))
		what := binary.NativeEndian.Uint32(b[4:])
		size := int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		name := string(bytes.TrimRight(b[:size], "\x00"))
		b = b[size:]
		w.event(wd, what, name)
	}
}

func (w *treeWatch) event(wd int32, what uint32, name string) {
	if what&unix.IN_Q_OVERFLOW != 0 {
		w.begin()
		return
	}
	node, ok := w.nodes[wd]
	if !ok {
		return
	}
	switch {
	case what&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0:
		if what&unix.IN_MOVE_SELF != 0 {
			unix.InotifyRmWatch(w.fd, uint32(wd))
		}
		delete(w.nodes, wd)
		if node.level <= 0 {
			w.rooted = w.rooted && node.level < 0
			w.begin()
		}
	case node.level < 0:
		if !w.rooted {
			w.begin()
		}
	case node.level == len(w.levels):
		if name == w.file && what&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0 {
			w.seen(node.path)
		}
	case what&unix.IN_ISDIR != 0 && what&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		w.enter(node.path, name, node.level)
	}
}

// seen looks at a container whose file exists or is new.
func (w *treeWatch) seen(dir string) {
	t, err := w.load(dir)
	if err != nil || !t.Running || t.Sandbox {
		// List can't read it either, and says why.
		return
	}
	if w.ours != nil && !w.ours(t) {
		if !w.first {
			w.f.hinted.tell(t)
		}
		return
	}
	key := t.Process()
	w.mu.Lock()
	known := w.running[key]
	w.running[key] = true
	w.mu.Unlock()
	if known {
		return
	}
	first := w.first
	w.wg.Go(func() {
		ts := []Target{t}
		if !first {
			w.busy <- struct{}{}
			w.addLabels(w.ctx, ts)
			<-w.busy
			w.send(Event{Type: Started, Target: ts[0], Source: w.what()})
		}
		if w.f.waitEnd(w.ctx, ts[0]) {
			w.send(Event{Type: Ended, Target: ts[0], Source: w.what()})
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.running, key)
	})
}

// waitEnd waits for the end of t's process, and reports whether it came before ctx's.
func (f *Finder) waitEnd(ctx context.Context, t Target) bool {
	fd, err := unix.PidfdOpen(t.PID, unix.O_NONBLOCK) // PIDFD_NONBLOCK, Linux 5.10
	if errors.Is(err, unix.ESRCH) {
		return ctx.Err() == nil
	}
	if err == nil {
		file := os.NewFile(uintptr(fd), "pidfd")
		defer file.Close()
		if f.Alive(t) != nil {
			// The number may be another process's by now.
			return ctx.Err() == nil
		}
		defer context.AfterFunc(ctx, func() { file.Close() })()
		if conn, cerr := file.SyscallConn(); cerr == nil {
			err = conn.Read(func(fd uintptr) bool {
				n, perr := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
				return perr != nil && perr != unix.EINTR || n > 0
			})
			if err == nil || ctx.Err() != nil {
				return ctx.Err() == nil
			}
		}
	}
	// An older kernel, or a seccomp filter.
	for f.Alive(t) == nil {
		if !pause(ctx, time.Second) {
			return false
		}
	}
	return ctx.Err() == nil
}
