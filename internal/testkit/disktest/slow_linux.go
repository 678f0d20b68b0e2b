package disktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// More operations of the FUSE protocol (linux/fuse.h).
const (
	fuseSetattr     = 4
	fuseMkdir       = 9
	fuseUnlink      = 10
	fuseRmdir       = 11
	fuseRename      = 12
	fuseOpen        = 14
	fuseRead        = 15
	fuseWrite       = 16
	fuseStatfs      = 17
	fuseRelease     = 18
	fuseFsync       = 20
	fuseFlush       = 25
	fuseOpendir     = 27
	fuseReaddir     = 28
	fuseReleasedir  = 29
	fuseAccess      = 34
	fuseCreate      = 35
	fuseDestroy     = 38
	fuseBatchForget = 42
)

// A Stall delays one request: the first of its kind that arrives when At has passed since the first request of that kind.
type Stall struct {
	// Op is "read", "write", "sync" or "close".
	Op string
	// For is the length of the delay. Endless lasts until the file system is unmounted.
	At, For time.Duration
}

// Endless is longer than any test.
const Endless = time.Hour

// A SlowFS is a mounted FUSE file system that passes requests on to a folder and delays those that the test names. The test's own
// process serves it. So the test must not map its files or use raw system calls on them: when Go stops all goroutines, it
// waits for these, and they wait for the server, which is stopped.
type SlowFS struct {
	// Dir is the mount point, and Back the folder with the data.
	Dir, Back string
	// Match selects the reads, writes and syncs of the plan, by the file's name and the bytes; nil: all. Set it before Plan.
	Match  func(name string, size int) bool
	fd     int
	cached bool

	mu     sync.Mutex
	paths  map[uint64]string
	ids    map[string]uint64
	base   map[string]time.Duration
	stalls []Stall
	begun  map[string]time.Time
	held   []time.Duration
	over   chan struct{}
	closed sync.Once
	files  atomic.Int64
	// besides is where the data is stored as well; nil: nowhere.
	besides keeper
}

// A keeper stores the data of a SlowFS on storage of its own.
type keeper interface {
	// write is called after data was written to the file at path, whose folder is Back.
	write(path string, data []byte, off int64) error
	// read replaces data, read at off, by the data of the storage.
	read(path string, data []byte, off int64) error
	sync() error
}

// NewSlowFS mounts one over a new folder in memory. If cached, its files use the page cache, as a mapping requires. Otherwise each
// read and write of a program arrives here, and several of one file run at once.
func NewSlowFS(t testing.TB, cached bool) *SlowFS {
	t.Helper()
	return serveSlow(t, &SlowFS{cached: cached}, "slow", "fuse.plimsollslow", "")
}

// serveSlow mounts s with this source, kind of file system and further options.
func serveSlow(t testing.TB, s *SlowFS, source, kind, more string) *SlowFS {
	t.Helper()
	needRoot(t, "serves a file system")
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs /dev/fuse: %v", err)
	}
	s.Back, s.fd, s.over = Tmpfs(t, "size=256m"), fd, make(chan struct{})
	s.paths, s.ids = map[uint64]string{1: "."}, map[string]uint64{".": 1}
	s.Plan(nil)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		serving.Wait() // Until the unmount ends it.
		unix.Close(fd)
	})
	s.Dir = Mount(t, source, kind, 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)+more)
	t.Cleanup(s.Release)
	// There are several readers of requests, because one may sleep in a stall.
	serving.Go(s.serve)
	return s
}

// Plan sets the minimum time that requests of each kind take, and plans stalls. A stall's time counts from the next request of
// its kind.
func (s *SlowFS) Plan(base map[string]time.Duration, stalls ...Stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base, s.stalls, s.begun, s.held = base, append([]Stall(nil), stalls...), map[string]time.Time{}, nil
}

// Left returns how many planned stalls have not delayed a request yet.
func (s *SlowFS) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stalls)
}

// Held returns how long the requests that were delayed since Plan waited, the longest first: on a busy machine that is longer
// than planned.
func (s *SlowFS) Held() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.held)
	slices.Reverse(s.held)
	return slices.Clone(s.held)
}

// Release ends all stalls, also those without an end.
func (s *SlowFS) Release() { s.closed.Do(func() { close(s.over) }) }

// wait delays a request.
func (s *SlowFS) wait(op, path string, size int) {
	now := time.Now()
	s.mu.Lock()
	if s.Match != nil && !s.Match(filepath.Base(path), size) {
		s.mu.Unlock()
		return
	}
	if s.begun[op].IsZero() {
		s.begun[op] = now
	}
	until, stalled := s.base[op], false
	for i, p := range s.stalls {
		if p.Op == op && now.Sub(s.begun[op]) >= p.At {
			until, stalled = max(until, p.For), true
			s.stalls = append(s.stalls[:i], s.stalls[i+1:]...)
			break
		}
	}
	s.mu.Unlock()
	if until > 0 {
		select {
		case <-time.After(until):
		case <-s.over:
		}
	}
	if stalled {
		s.mu.Lock()
		s.held = append(s.held, time.Since(now))
		s.mu.Unlock()
	}
}

// serve answers requests until the file system is unmounted.
func (s *SlowFS) serve() {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		request := make([]byte, 1<<18)
		n, err := unix.Read(s.fd, request)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil || n < 40 {
			s.Release()
			return
		}
		all.Go(func() { s.answer(request[:n]) })
	}
}

// answer answers one request.
func (s *SlowFS) answer(r []byte) {
	e := binary.NativeEndian
	body, err := s.do(e.Uint32(r[4:]), e.Uint64(r[16:]), r[40:])
	if errors.Is(err, errNoAnswer) {
		return
	}
	errno := unix.Errno(0)
	if err != nil && !errors.As(err, &errno) {
		errno = unix.EIO
	}
	if errno != 0 {
		body = nil
	}
	reply := make([]byte, 16, 16+len(body))
	e.PutUint32(reply[0:], uint32(16+len(body)))
	e.PutUint32(reply[4:], uint32(-int32(errno)))
	copy(reply[8:16], r[8:16])
	_, _ = unix.Write(s.fd, append(reply, body...)) // Nobody waits for the answer to a cancelled request.
}

var errNoAnswer = errors.New("no answer is expected")

// do executes a request for a node and returns the body of the answer.
func (s *SlowFS) do(op uint32, node uint64, in []byte) ([]byte, error) {
	e := binary.NativeEndian
	path := s.path(node)
	switch op {
	case fuseForget, fuseBatchForget:
		return nil, errNoAnswer
	case fuseDestroy: // The unmount of a fuseblk file system waits for the answer.
		return nil, nil
	case fuseInit:
		const asyncRead, bigWrites, asyncDirect = 1, 1 << 5, 1 << 15
		out := make([]byte, 64)
		e.PutUint32(out[0:], 7)
		e.PutUint32(out[4:], 31)
		e.PutUint32(out[12:], e.Uint32(in[12:])&(asyncRead|bigWrites|asyncDirect))
		e.PutUint16(out[16:], 128) // Requests in flight,
		e.PutUint16(out[18:], 128) // and how many make it congested.
		e.PutUint32(out[20:], 1<<17)
		return out, nil
	case fuseLookup:
		return s.entry(filepath.Join(path, name(in)))
	case fuseGetattr:
		return s.attr(path)
	case fuseSetattr:
		const size = 1 << 3
		if e.Uint32(in)&size != 0 {
			if err := os.Truncate(path, int64(e.Uint64(in[16:]))); err != nil {
				return nil, err
			}
		}
		return s.attr(path)
	case fuseMkdir:
		child := filepath.Join(path, name(in[8:]))
		if err := os.Mkdir(child, os.FileMode(e.Uint32(in)&0o777)); err != nil {
			return nil, err
		}
		return s.entry(child)
	case fuseUnlink, fuseRmdir:
		return nil, os.Remove(filepath.Join(path, name(in)))
	case fuseRename:
		from, to, _ := cutName(in[8:])
		return nil, os.Rename(filepath.Join(path, from), filepath.Join(s.path(e.Uint64(in)), name(to)))
	case fuseOpen, fuseOpendir:
		return s.open(path, int(e.Uint32(in))), nil
	case fuseCreate:
		child := filepath.Join(path, name(in[16:]))
		f, err := os.OpenFile(child, os.O_CREATE|os.O_RDWR|int(e.Uint32(in))&os.O_TRUNC, os.FileMode(e.Uint32(in[4:])&0o777))
		if err != nil {
			return nil, err
		}
		f.Close()
		out, err := s.entry(child)
		return append(out, s.open(child, 0)...), err
	case fuseRead:
		s.wait("read", path, int(e.Uint32(in[16:])))
		return s.read(path, int64(e.Uint64(in[8:])), int(e.Uint32(in[16:])))
	case fuseWrite:
		n := e.Uint32(in[16:])
		s.wait("write", path, int(n))
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		out := make([]byte, 8)
		e.PutUint32(out, n)
		off := int64(e.Uint64(in[8:]))
		if _, err = f.WriteAt(in[40:40+n], off); err == nil && s.besides != nil {
			err = s.besides.write(path, in[40:40+n], off)
		}
		return out, err
	case fuseFsync:
		s.wait("sync", path, 0)
		if s.besides != nil {
			return nil, s.besides.sync()
		}
		return nil, nil
	case fuseReaddir:
		return s.list(path, e.Uint64(in[8:]), int(e.Uint32(in[16:])))
	case fuseStatfs:
		out := make([]byte, 80)
		e.PutUint64(out[0:], 1<<20)
		e.PutUint64(out[8:], 1<<20)
		e.PutUint64(out[16:], 1<<20)
		e.PutUint32(out[40:], 4096)
		e.PutUint32(out[44:], 255)
		e.PutUint32(out[48:], 4096)
		return out, nil
	case fuseFlush:
		s.wait("close", path, 0)
		return nil, nil
	case fuseRelease, fuseReleasedir, fuseAccess:
		return nil, nil
	}
	return nil, unix.ENOSYS
}
