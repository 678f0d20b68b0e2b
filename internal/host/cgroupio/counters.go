package cgroupio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// Counters are the kernel's counts for a group on one device since the group was made.
type Counters struct {
	// Bytes, and I/Os as the device received them: a large one that was split counts as several.
	ReadBytes, WriteBytes, DiscardBytes int64
	Reads, Writes, Discards             int64
	// Waited is how long iocost held the group's I/O back, and Delayed how long it made the group's processes
	// sleep for it: cost.wait and cost.indelay, which the kernel shows while blkcg_debug_stats is on.
	Waited, Delayed time.Duration
	// Timed is whether the kernel showed them.
	Timed bool
	// Cost is the device's time that the group has used according to iocost's model of the device: cost.usage, 0 if iocost is off.
	Cost time.Duration
}

// serviceLocal and servicedLocal count a group without the groups below it, in bytes and in I/Os (version 1).
const (
	serviceLocal  = "blkio.throttle.io_service_bytes"
	servicedLocal = "blkio.throttle.io_serviced"
	// servicedAll counts the groups below, too.
	servicedAll = "blkio.throttle.io_serviced_recursive"
)

// GroupCounters returns the counters of an I/O controller's group by device. A device without counters is left out: the group has
// not used it, or, in version 1, the kernel doesn't count there (see Everybody).
//
// In version 1 the counters are the group's own, without the groups below it: for a container's
// sum, add up its groups. (The kernel's own sum forgets a group when it is removed.) In
// version 2 they include the groups below, removed ones too.
func GroupCounters(g *hierarchy.Group, read func(path string) ([]byte, error)) (map[device.Number]Counters, error) {
	if g.Version == 2 {
		b, err := read(filepath.Join(g.Dir, "io.stat"))
		if errors.Is(err, fs.ErrNotExist) {
			if _, gone := os.Stat(g.Dir); gone != nil {
				return nil, fmt.Errorf("group %s: %w", g.Path, gone)
			}
			return nil, fmt.Errorf("group %s: the parent doesn't give it the io controller: %w", g.Path, ErrNotCounted)
		}
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Path, err)
		}
		stats, err := parseStat(string(b))
		if err != nil {
			return nil, fmt.Errorf("group %s: io.stat: %w", g.Path, err)
		}
		return stats, nil
	}
	return services(g, read, serviceLocal, servicedLocal)
}

// services reads two files of version 1, of bytes and of I/Os.
func services(g *hierarchy.Group, read func(path string) ([]byte, error), bytes, ios string) (map[device.Number]Counters, error) {
	out := map[device.Number]Counters{}
	for _, f := range []struct {
		file string
		put  func(c *Counters, op string, n int64)
	}{
		{bytes, func(c *Counters, op string, n int64) { c.count(op, n, &c.ReadBytes, &c.WriteBytes, &c.DiscardBytes) }},
		{ios, func(c *Counters, op string, n int64) { c.count(op, n, &c.Reads, &c.Writes, &c.Discards) }},
	} {
		b, err := read(filepath.Join(g.Dir, f.file))
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Path, err)
		}
		if err := parseServices(string(b), func(key device.Number, op string, n int64) {
			c := out[key]
			f.put(&c, op, n)
			out[key] = c
		}); err != nil {
			return nil, fmt.Errorf("group %s: %s: %w", g.Path, f.file, err)
		}
	}
	return out, nil
}

// count adds a number to the counter that its word names. It ignores "Sync", "Async" and "Total", which repeat the same I/O.
func (c *Counters) count(op string, n int64, read, write, discard *int64) {
	switch op {
	case "Read":
		*read = n
	case "Write":
		*write = n
	case "Discard":
		*discard = n
	}
}

// parseServices reads the lines "254:0 Read 4096" of version 1. The last is "Total 4096".
func parseServices(text string, each func(key device.Number, op string, n int64)) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		key, err := device.ParseNumber(fields[0])
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a count", strings.TrimSpace(line))
		}
		each(key, fields[1], n)
	}
	return nil
}

// Everybody returns by device what version 1 has counted for all groups together. It is the kernel's own sum, which loses the counts
// of a group when that is removed. Since kernel 6.10 the kernel counts on a disk only after a first limit was set there, so a device
// that isn't in the list may have been used or not. It is nil if every device is counted, as in version 2.
func Everybody(root *hierarchy.Group, read func(path string) ([]byte, error)) (map[device.Number]Counters, error) {
	if root.Version == 2 {
		return nil, nil
	}
	return services(root, read, serviceBytes, servicedAll)
}

// GroupThrottle returns how often and how long the CPU controller has stopped a group since it was made. The error is ErrNotCounted
// if the group can't be stopped.
func GroupThrottle(g *hierarchy.Group, read func(path string) ([]byte, error)) (Throttled, error) {
	b, err := read(filepath.Join(g.Dir, "cpu.stat"))
	if err != nil {
		return Throttled{}, fmt.Errorf("group %s: %w", g.Path, err)
	}
	t, err := parseThrottle(string(b))
	if err != nil {
		return Throttled{}, fmt.Errorf("group %s: cpu.stat: %w", g.Path, err)
	}
	return t, nil
}
