package keeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/hierarchy"
)

// A groupWatch reports writes to the control files of limited groups, and new groups below them (inotify(7); the
// kernel reports changes by system calls, and a limit in a control file can't change otherwise).
type groupWatch struct {
	k    *Keeper
	fd   int
	file *os.File
	wg   sync.WaitGroup

	mu sync.Mutex
	// folders maps the kernel's watch numbers to entries; of has an entry's numbers.
	folders map[int32]*entry
	of      map[*entry]map[string]int32
	// full is set once it was logged that no more groups can be watched.
	full bool
}

// newGroupWatch watches nothing yet. Groups that can't be watched are checked from time to time.
func newGroupWatch(k *Keeper) *groupWatch {
	w := &groupWatch{k: k, fd: -1, folders: map[int32]*entry{}, of: map[*entry]map[string]int32{}}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		k.logf("inotify: %v; changes by other programs are seen every %v", err, k.opt.Check)
		return w
	}
	w.fd, w.file = fd, os.NewFile(uintptr(fd), "inotify")
	w.wg.Go(w.read)
	return w
}

func (w *groupWatch) close() {
	if w.file != nil {
		w.file.Close()
		w.wg.Wait()
	}
}

// add watches an entry's groups, and in version 1, where each has its own limits, the groups below. It reports
// whether one is new.
func (w *groupWatch) add(e *entry) bool {
	if w.file == nil || e.groups == nil || len(e.parts) == 0 {
		return false
	}
	before := w.count(e)
	for _, c := range []hierarchy.Controller{hierarchy.IO, hierarchy.CPU, hierarchy.Memory} {
		g, err := e.groups.Group(c)
		if err != nil || !e.has(c) {
			continue
		}
		if g.Version == 1 && c == hierarchy.IO && !g.IsRoot() {
			w.tree(e, g.Dir)
		} else {
			w.folder(e, g.Dir)
		}
	}
	return w.count(e) > before
}

// count is the number of an entry's watched folders.
func (w *groupWatch) count(e *entry) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.of[e])
}

// tree watches a folder and those below it.
func (w *groupWatch) tree(e *entry, dir string) {
	w.folder(e, dir)
	// A group without groups below it has two links.
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || st.Nlink == 2 {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range entries {
		if d.IsDir() {
			w.tree(e, filepath.Join(dir, d.Name()))
		}
	}
}

// folder watches one folder.
func (w *groupWatch) folder(e *entry, dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.of[e][dir]; ok {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_MODIFY|unix.IN_CREATE|unix.IN_ONLYDIR)
	switch {
	case errors.Is(err, unix.ENOSPC) && !w.full:
		w.full = true
		w.k.logf("no more groups can be watched, so changes by other programs are seen only every %v; raise the limit: sysctl fs.inotify.max_user_watches=1048576", w.k.opt.Check)
		return
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !w.full:
		w.k.logf("watch %s: %v", dir, err)
		return
	case err != nil:
		return
	}
	if w.of[e] == nil {
		w.of[e] = map[string]int32{}
	}
	w.of[e][dir], w.folders[int32(wd)] = int32(wd), e
}

// remove ends an entry's watches.
func (w *groupWatch) remove(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wd := range w.of[e] {
		// The watch of a removed folder has ended by itself.
		_, _ = unix.InotifyRmWatch(w.fd, uint32(wd))
		delete(w.folders, wd)
	}
	delete(w.of, e)
}

// read handles the kernel's events until the file is closed.
func (w *groupWatch) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			return
		}
		for e := range w.changed(buf[:n]) {
			w.k.soon(e)
		}
	}
}

// changed are the entries that events are about (struct inotify_event of inotify(7)).
func (w *groupWatch) changed(b []byte) map[*entry]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[*entry]bool{}
	for len(b) >= unix.SizeofInotifyEvent {
		wd, what := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		size := int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], "\x00"))
		b = b[unix.SizeofInotifyEvent+size:]
		e := w.folders[wd]
		switch {
		case what&unix.IN_Q_OVERFLOW != 0:
			w.k.tick()
		case e == nil:
		case what&unix.IN_IGNORED != 0:
			delete(w.folders, wd)
			for dir, n := range w.of[e] {
				if n == wd {
					delete(w.of[e], dir)
				}
			}
		case what&unix.IN_CREATE != 0 && what&unix.IN_ISDIR != 0, limitFile(name):
			found[e] = true
		}
	}
	return found
}

// limitFile reports whether a control file has limits. Others, such as cgroup.procs, are written all the time.
func limitFile(name string) bool {
	for _, prefix := range []string{"blkio.throttle.", "blkio.weight", "blkio.bfq.", "io.max", "io.latency", "io.weight", "io.bfq.",
		"cpu.max", "cpu.weight", "cpu.shares", "cpu.cfs_", "memory.max", "memory.swap.max", "memory.limit", "memory.memsw.limit"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
