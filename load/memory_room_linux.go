package load

import (
	"os"
	"strconv"
	"strings"
)

// availableMemory returns the number of bytes that can be allocated without swapping (MemAvailable of proc_meminfo(5)),
// or looksForRoom if that is unknown.
func availableMemory() int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return looksForRoom
}
