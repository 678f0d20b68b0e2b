package engine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/wire"
)

// OpenFiles is how many files a container's worker may have open: as many as this process, and so the host's worker, but at
// least wire.OpenFiles if this process may grant that. Soft limits don't count, because every worker raises its own to the
// hard one (package worker). Without a limit given by Plimsoll, a runtime or daemon would pass on its own.
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

// mostOpenFiles is the most that the kernel allows (proc(5), fs.nr_open).
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
