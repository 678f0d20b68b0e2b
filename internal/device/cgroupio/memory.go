package cgroupio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/device"
	"plimsoll/internal/device/hierarchy"
)

// unlimited is where version 1 says that there is no limit: it writes the greatest number of pages in
// bytes, 2^63 less a page, and pages differ between machines.
const unlimited = int64(1) << 62

// ReadMemoryLimit returns how many bytes of memory pid's group may use: the least limit of the group
// and of all above it that can be seen from here, since that is the one in effect. 0: none.
func ReadMemoryLimit(f device.FS, pid int) (int64, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.Memory)
	if err != nil {
		return 0, err
	}
	name := "memory.max"
	if g.Version == 1 {
		name = "memory.limit_in_bytes"
	}
	least := unlimited
	for dir := g.Dir; ; dir = filepath.Dir(dir) {
		n, err := memoryLimit(filepath.Join(dir, name))
		if err != nil {
			return 0, fmt.Errorf("group %s: %w", g.Path, err)
		}
		least = min(least, n)
		if dir == g.Root || len(dir) <= len(g.Root) {
			break
		}
	}
	if least == unlimited {
		return 0, nil
	}
	return least, nil
}

// memoryLimit reads one limit. The root has no file in version 2.
func memoryLimit(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return unlimited, nil
	}
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(b))
	if text == "max" {
		return unlimited, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return unlimited, nil // "-1" of old kernels.
	}
	return min(n, unlimited), nil
}
