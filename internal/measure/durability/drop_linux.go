package durability

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache makes the kernel drop the file's pages, so that they are read from the disk.
func dropCache(f *os.File) {
	_ = f.Sync()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
