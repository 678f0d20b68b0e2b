package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// layoutChunk is the size of one write, layoutDepth the number in flight. Larger chunks and more writes gained nothing
// on a virtio disk; one write at a time lost a third.
const (
	layoutChunk = 1 << 20
	layoutDepth = 4
)

// A writer lays out one file.
type writer struct {
	path   string
	fd     int
	size   int64
	seed   uint64
	direct bool
	next   atomic.Int64 // offset of the next chunk
}

func layout(ctx context.Context, path string, size int64, opt LayoutOptions) (f *os.File, res LayoutResult, err error) {
	w := &writer{path: path, fd: -1, size: size, seed: opt.Seed}
	if err := w.claim(opt, &res); err != nil || res.Reused {
		return nil, res, err
	}
	start := time.Now()
	undo := func() error { return uninterrupted(func() error { return unix.Ftruncate(w.fd, 0) }) }
	if w.fd < 0 {
		if err := w.open(); err != nil {
			return nil, res, err
		}
		undo = func() error { return ignoreMissing(os.Remove(path)) }
	}
	if opt.Opened != nil {
		opt.Opened(uintptr(w.fd))
	}
	// From here on the contents of the file are this layout's own.
	defer func() {
		if err != nil {
			err = errors.Join(err, undo())
			unix.Close(w.fd)
		}
	}()
	if err := w.reserve(); err != nil {
		return nil, res, err
	}
	if err := w.write(ctx); err != nil {
		return nil, res, err
	}
	res.Elapsed = time.Since(start)
	res.Rate = float64(size) / res.Elapsed.Seconds()
	res.Direct = w.direct
	if err := w.verify(&res); err != nil {
		return nil, res, err
	}
	// The file is whole: another layout may judge it. A file system without locks has none to release.
	_ = uninterrupted(func() error { return unix.Flock(w.fd, unix.LOCK_UN) })
	return os.NewFile(uintptr(w.fd), path), res, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// claim makes sure that the path may be written. Either nothing is there; or an empty file, which is opened and keeps
// its owner, mode and links; or, with Reuse, the caller's own file, which is reused if it is complete and removed
// otherwise.
func (w *writer) claim(opt LayoutOptions, res *LayoutResult) error {
	st, err := os.Lstat(w.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() == os.ModeSymlink {
		return &ExistsError{w.path, "a symbolic link"}
	}
	if !st.Mode().IsRegular() {
		return &ExistsError{w.path, "something else than a regular file"}
	}
	if st.Size() > 0 && !opt.Reuse {
		return &ExistsError{w.path, fmt.Sprintf("a file of %d bytes", st.Size())}
	}
	fd, err := openRetry(w.path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: w.path, Err: err}
	}
	length, err := locked(fd, w.path)
	switch {
	case err != nil:
	case length == 0:
		w.fd = fd
		w.direct = w.makeDirect()
		return nil
	case !opt.Reuse:
		err = &ExistsError{w.path, fmt.Sprintf("a file of %d bytes", length)}
	case length == w.size && reusable(fd, w.path, w.size, res):
		res.Reused = true
	default:
		err = ignoreMissing(os.Remove(w.path))
	}
	unix.Close(fd)
	return err
}

// locked locks the open file and returns its length. No other layout can change the file while it is locked.
func locked(fd int, path string) (int64, error) {
	if err := lock(fd, path); err != nil {
		return 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Size, nil
}

// lock makes sure that no other layout is writing the open file or replacing it. File systems without locks give no
// such protection.
func lock(fd int, path string) error {
	err := uninterrupted(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	var st unix.Stat_t
	if errors.Is(err, unix.EWOULDBLOCK) || unix.Fstat(fd, &st) == nil && st.Nlink == 0 {
		return &ExistsError{path, "a file that another layout makes"}
	}
	return nil
}

// reusable reports whether the open file is fully written. If so, it drops the file from the page cache.
func reusable(fd int, path string, size int64, res *LayoutResult) bool {
	w := &writer{path: path, fd: fd, size: size}
	return w.verify(res) == nil
}

// open creates the file, for direct I/O if the file system supports it. If another program has created the file since
// claim looked, it stays, and open returns an *ExistsError.
func (w *writer) open() error {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	var err error
	w.direct = true
	if w.fd, err = openRetry(w.path, flags|unix.O_DIRECT, 0o644); err != nil && errors.Is(err, unix.EINVAL) {
		// Some file systems create the file and then refuse the flag.
		os.Remove(w.path)
		w.direct = false
		w.fd, err = openRetry(w.path, flags, 0o644)
	}
	if errors.Is(err, unix.EEXIST) {
		return &ExistsError{w.path, "a file that another program has just made"}
	}
	if err != nil {
		return &os.PathError{Op: "create", Path: w.path, Err: err}
	}
	length, err := locked(w.fd, w.path)
	if err == nil && length > 0 {
		// Another layout took it for the user's empty file before it was locked, and has finished writing it.
		err = &ExistsError{w.path, fmt.Sprintf("a file of %d bytes", length)}
	}
	if err != nil {
		return errors.Join(err, unix.Close(w.fd))
	}
	return nil
}

// reserve allocates the file's space, so that a lack of it shows before anything is written. On btrfs it checks the
// free space instead: btrfs does not compress a file whose space was ever reserved (inode_should_compress), while the
// files of applications are compressed.
func (w *writer) reserve() error {
	var fs unix.Statfs_t
	if uninterrupted(func() error { return unix.Fstatfs(w.fd, &fs) }) == nil && fs.Type == unix.BTRFS_SUPER_MAGIC {
		if w.size > int64(fs.Bavail)*fs.Bsize {
			return w.failed("reserve", unix.ENOSPC)
		}
		return nil
	}
	err := uninterrupted(func() error { return unix.Fallocate(w.fd, 0, 0, w.size) })
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return w.failed("reserve", err)
	}
	return nil
}

// failed describes err, with the free space if that was the cause.
func (w *writer) failed(op string, err error) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) && !errors.Is(err, unix.EFBIG) {
		return &os.PathError{Op: op, Path: w.path, Err: err}
	}
	e := &SpaceError{Path: w.path, Needed: w.size, Available: -1, Err: err}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if errors.Is(err, unix.ENOSPC) && uninterrupted(func() error { return unix.Fstatfs(w.fd, &fs) }) == nil && unix.Fstat(w.fd, &st) == nil {
		// The space of the partial file will be free again.
		e.Available = int64(fs.Bavail)*fs.Frsize + st.Blocks*512
	}
	return e
}

// write fills the file with several writes in flight, then syncs it.
func (w *writer) write(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, layoutDepth)
	for i := range errs {
		wg.Go(func() {
			if errs[i] = w.writeChunks(ctx); errs[i] != nil {
				w.next.Store(w.size)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if err := uninterrupted(func() error { return unix.Fsync(w.fd) }); err != nil {
		return w.failed("fsync", err)
	}
	return nil
}

func (w *writer) writeChunks(ctx context.Context) error {
	p, err := mapMemory(layoutChunk)
	if err != nil {
		return err
	}
	defer unmapMemory(p)
	for {
		off := w.next.Add(layoutChunk) - layoutChunk
		if off >= w.size {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: broken off: %w", w.path, context.Cause(ctx))
		}
		n := min(layoutChunk, w.size-off)
		fillRandom(p[:n], w.seed+uint64(off))
		stamp(p[:n], off, w.seed)
		if err := w.writeAt(p[:n], off); err != nil {
			return err
		}
	}
}

// writeAt writes p. It falls back to buffered I/O if direct I/O fails: at the unaligned end of a file, or on a file
// system that accepts the flag but not the I/O.
func (w *writer) writeAt(p []byte, off int64) error {
	for len(p) > 0 {
		var n int
		err := uninterrupted(func() (err error) {
			n, err = unix.Pwrite(w.fd, p, off)
			return err
		})
		switch {
		case err == unix.EINVAL && w.buffered():
			continue
		case err != nil:
			return w.failed("write", err)
		case n == 0:
			return w.failed("write", unix.EIO)
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// makeDirect turns on direct I/O for an existing file, and reports whether its file system supports it.
func (w *writer) makeDirect() bool {
	flags, err := unix.FcntlInt(uintptr(w.fd), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	_, err = unix.FcntlInt(uintptr(w.fd), unix.F_SETFL, flags|unix.O_DIRECT)
	return err == nil
}

// buffered turns direct I/O off and reports whether it was on. Concurrent writes of other threads may be of either
// kind; both are correct.
func (w *writer) buffered() bool {
	flags, err := unix.FcntlInt(uintptr(w.fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_DIRECT == 0 {
		return false
	}
	_, err = unix.FcntlInt(uintptr(w.fd), unix.F_SETFL, flags&^unix.O_DIRECT)
	return err == nil
}

// verify drops the file from the page cache and checks that all of it is written.
func (w *writer) verify(res *LayoutResult) error {
	t := &target{path: w.path, fd: w.fd, size: w.size}
	// Dirty pages would stay in the cache, and a reused file may have some.
	if err := t.sync(true); err != nil {
		return w.failed("fdatasync", err)
	}
	// This is only advice; Info.Resident shows its effect.
	_ = unix.Fadvise(w.fd, 0, 0, unix.FADV_DONTNEED)
	var err error
	if res.Info, err = t.inspect(0, w.size, true); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	if i := res.Info; i.HoleBytes > 0 || i.UnwrittenBytes > 0 {
		return &UnwrittenError{Path: w.path, Size: w.size, FileSize: w.size, Holes: i.HoleBytes, Unwritten: i.UnwrittenBytes}
	}
	return nil
}
