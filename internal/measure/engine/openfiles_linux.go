package engine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/wire"
)

// OpenFiles is how many files a container's worker may have open: as many as this process may, and
// so the host's worker (its soft limit is no bound, every worker raises it to the hard one), and
// wire.OpenFiles at least where that is this process's to give. The host's worker raises its own in
// the same way (package worker). A runtime or daemon that is told nothing passes on what it
// happens to have itself.
func OpenFiles() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return wire.OpenFiles
	}
	if hard := int64(r.Max); hard >= wire.OpenFiles || !Capable(unix.CAP_SYS_RESOURCE) {
		return hard
	}
	return min(wire.OpenFiles, mostOpenFiles())
}

// mostOpenFiles is what the kernel allows at most (proc(5), fs.nr_open).
func mostOpenFiles() int64 {
	b, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return wire.OpenFiles
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return wire.OpenFiles
	}
	return n
}
