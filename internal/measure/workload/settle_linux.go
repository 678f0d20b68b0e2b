package workload

import (
	"bufio"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// Unwritten is how many bytes of all files the machine's page cache has yet to write back: Dirty and Writeback of
// proc_meminfo(5), where kB is 1024 bytes. -1: unknown.
func Unwritten() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return -1
	}
	defer f.Close()
	sum, found := int64(0), false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var key string
		var kib int64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d kB", &key, &kib); err == nil && (key == "Dirty:" || key == "Writeback:") {
			sum, found = sum+kib<<10, true
		}
	}
	if !found {
		return -1
	}
	return sum
}

// OpenFolder opens a folder, and refuses anything else: opening a named pipe would block.
func OpenFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// SyncFS makes the kernel's flusher write back the file system that f is on, and waits for it (syncfs(2)). The flusher does
// the writing, not this process.
func SyncFS(f *os.File) error {
	if err := eintr.Retry(func() error { return unix.Syncfs(int(f.Fd())) }); err != nil {
		return &os.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}
