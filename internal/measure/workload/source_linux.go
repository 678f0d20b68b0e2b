package workload

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// openToSync opens a file so that it can be read and synced.
func openToSync(path string) (*os.File, error) { return os.Open(path) }

// syncFolder waits until all data of a folder's file system is stored. Syncing each file would flush the disk once for
// each.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := eintr.Retry(func() error { return unix.Syncfs(int(f.Fd())) }); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// dropCached drops a stored file from the page cache. Mapped pages stay (posix_fadvise(2)).
func dropCached(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// cachedBytes is how much of a file of size bytes is in the page cache (mincore(2)).
func cachedBytes(f *os.File, size int64) (int64, bool) {
	if size == 0 {
		return 0, true
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, false
	}
	defer unix.Munmap(m)
	page := int64(os.Getpagesize())
	pages := make([]byte, (size+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		return 0, false
	}
	n := int64(0)
	for _, p := range pages {
		n += int64(p & 1)
	}
	return min(n*page, size), true
}
