//go:build !linux && !windows

package load

import (
	"fmt"
	"os"
)

var systemEngines = []string{IOUring, LinuxAIO, PSync, Null}

type how struct{}

func openFile(j Job, path string) (*os.File, how, error) {
	if j.Direct {
		return nil, how{}, &DirectError{Path: path, Err: fmt.Errorf("direct I/O on this system: %w", ErrNotSupported)}
	}
	if j.IOEngine == IOUring || j.IOEngine == LinuxAIO || j.IOEngine == MMap {
		return nil, how{}, &EngineError{j.IOEngine, "only Linux has it; use psync", ErrNotSupported}
	}
	if j.discards() {
		return nil, how{}, canTrim(path)
	}
	flags := os.O_RDONLY
	if j.writes() {
		flags = os.O_RDWR
	}
	if j.Sync != "" {
		flags |= os.O_SYNC
	}
	f, err := os.OpenFile(path, flags, 0)
	return f, how{}, err
}

// mapMemory returns n bytes. Go's collector doesn't move them.
func mapMemory(n int64) ([]byte, error) { return make([]byte, n), nil }

// mapUntouched is mapMemory: the system allocates each page when it is first touched.
func mapUntouched(n int64) ([]byte, error) { return mapMemory(n) }

func mapLarge(int64) ([]byte, error) {
	return nil, fmt.Errorf("large_pages: only Linux has them here: %w", ErrNotSupported)
}

func unmapMemory([]byte) error { return nil }

func newAsync(name string, _ []*target, _ []slot, _ *buffers) (asyncEngine, error) {
	if name == PSync {
		return nil, nil
	}
	return nil, &EngineError{name, "only Linux has it; use psync", ErrNotSupported}
}
