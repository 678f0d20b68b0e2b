package step

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A watch collects the events of a folder.
type watch struct {
	f    *os.File
	mu   sync.Mutex
	seen []Event
}

// newWatch begins to watch a folder.
func newWatch(dir string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	w := &watch{f: os.NewFile(uintptr(fd), "inotify")}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MODIFY|unix.IN_DELETE|unix.IN_MOVE); err != nil {
		w.f.Close()
		return nil, err
	}
	go w.read()
	return w, nil
}

// kinds are the events of inotify(7) that count here.
var kinds = []struct {
	bit  uint32
	what string
}{
	{unix.IN_CREATE, "create"}, {unix.IN_MODIFY, "modify"}, {unix.IN_DELETE, "delete"},
	{unix.IN_MOVED_FROM, "moved_from"}, {unix.IN_MOVED_TO, "moved_to"}, {unix.IN_Q_OVERFLOW, "overflow"},
}

// read collects events until the file is closed.
func (w *watch) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.f.Read(buf)
		if err != nil {
			return
		}
		at := now()
		w.mu.Lock()
		// struct inotify_event: wd, mask, cookie, len, then the name with NULs up to len.
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask, length := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
			b = b[unix.SizeofInotifyEvent+length:]
			for _, k := range kinds {
				if mask&k.bit != 0 {
					w.seen = append(w.seen, Event{k.what, string(bytes.TrimRight(name, "\x00")), at})
				}
			}
		}
		w.mu.Unlock()
	}
}

// events answers the events that were seen since the last time.
func (w *watch) events(c Call, a *Answer) error {
	if w == nil {
		return errors.New("nothing is watched")
	}
	for end := time.Now().Add(c.Wait); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		if len(w.seen) >= c.Count || time.Now().After(end) {
			a.Events, w.seen = w.seen, nil
			w.mu.Unlock()
			return nil
		}
		w.mu.Unlock()
	}
}
