package cgroupio

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// ReadCosts returns by device how much of the device's time the group of process pid has used, according to iocost's model, and the
// group's name. Take the difference of two calls. Devices without iocost are left out. The root group, which iocost does not limit,
// has none.
func ReadCosts(f device.FS, pid int) (used map[device.Number]time.Duration, group string, err error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.IO)
	if err != nil || g.Version == 1 || g.IsRoot() {
		return nil, "", err
	}
	b, err := os.ReadFile(filepath.Join(g.Dir, "io.stat"))
	if err != nil {
		return nil, "", err
	}
	all, err := parseStat(string(b))
	for d, c := range all {
		if c.Cost > 0 {
			if used == nil {
				used = map[device.Number]time.Duration{}
			}
			used[d] = c.Cost
		}
	}
	return used, g.Path, err
}
