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

// ReadCgroupIO returns the bytes that pid's group has read from and written to
// dev since it was made, and the version of its io or blkio controller (0: none
// was found). Take the difference of two calls.
//
// Only dev is counted: a sum over all devices would count a byte once for each device of a stack. If the bytes are unknown they are
// -1 and the error says why: ErrShared if the group is the root or Plimsoll's own, ErrNotCounted if the kernel keeps no count. The
// version is right even then. For a nil dev the error is ErrNotCounted.
func ReadCgroupIO(f device.FS, pid int, dev *device.Device) (read, written int64, version int, err error) {
	g, err := ownGroup(f, pid, hierarchy.IO)
	if g != nil {
		version = g.Version
	}
	if err != nil {
		return -1, -1, version, err
	}
	if dev == nil {
		return -1, -1, version, fmt.Errorf("group %s: no device to count on: %w", g.Path, ErrNotCounted)
	}
	if version == 2 {
		read, written, err = readV2(g, dev.Number)
	} else {
		read, written, err = readV1(g, dev.Number)
	}
	if err != nil {
		return -1, -1, version, fmt.Errorf("group %s: %w", g.Path, err)
	}
	return read, written, version, nil
}

// readV2 reads io.stat: "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0".
// A device that the group never used has no line.
func readV2(g *hierarchy.Group, key device.Number) (read, written int64, err error) {
	b, err := os.ReadFile(filepath.Join(g.Dir, "io.stat"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("the parent doesn't give it the io controller: %w", ErrNotCounted)
	}
	if err != nil {
		return 0, 0, err
	}
	stats, err := parseStat(string(b))
	if err != nil {
		return 0, 0, fmt.Errorf("io.stat: %w", err)
	}
	return stats[key].ReadBytes, stats[key].WriteBytes, nil
}

// parseStat reads io.stat by device. It ignores the fields of other policies ("cost.vrate=100.00", "use_delay=0"). Kernels from 5.15
// on, until the fix "blk-cgroup: always terminate io.stat lines", begin a line for a device without counts and don't end it. So
// several names may stand before the first field, which belongs to the last of them. A path of an NVMe multipath disk is
// "(unknown)", which is no device's name.
func parseStat(text string) (map[device.Number]Counters, error) {
	stats := map[device.Number]Counters{}
	for line := range strings.Lines(text) {
		var key device.Number
		named, s := false, Counters{}
		for _, f := range strings.Fields(line) {
			name, value, counted := strings.Cut(f, "=")
			if !counted {
				if n, err := device.ParseNumber(f); err == nil && s == (Counters{}) {
					key, named = n, true
				}
				continue
			}
			set := s.field(name)
			if set == nil {
				continue
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%q is not a count", f)
			}
			set(n)
		}
		if named {
			stats[key] = s
		}
	}
	return stats, nil
}

// field returns the function that sets a field of io.stat, nil for an unknown one. Times are in microseconds (ioc_pd_stat in the
// kernel's block/blk-iocost.c).
func (c *Counters) field(name string) func(int64) {
	number := func(p *int64) func(int64) { return func(n int64) { *p = n } }
	micros := func(p *time.Duration) func(int64) {
		return func(n int64) { *p, c.Timed = time.Duration(n)*time.Microsecond, true }
	}
	switch name {
	case "rbytes":
		return number(&c.ReadBytes)
	case "wbytes":
		return number(&c.WriteBytes)
	case "dbytes":
		return number(&c.DiscardBytes)
	case "rios":
		return number(&c.Reads)
	case "wios":
		return number(&c.Writes)
	case "dios":
		return number(&c.Discards)
	case "cost.usage":
		return func(n int64) { c.Cost = time.Duration(n) * time.Microsecond }
	case "cost.wait":
		return micros(&c.Waited)
	case "cost.indelay":
		return micros(&c.Delayed)
	}
	return nil
}

// serviceBytes is version 1's counter. It is the recursive one: groups below pid's own (a container may make its own) count too.
const serviceBytes = "blkio.throttle.io_service_bytes_recursive"

// readV1 reads the throttling policy's counters, the only ones of version 1: "254:0 Read 4096".
//
// Since kernel 6.10 the first limit on a disk, set by any program, activates that policy there. Before that nothing is counted,
// and a missing line means nothing. The root group shows a line for the disk once the policy is active.
func readV1(g *hierarchy.Group, key device.Number) (read, written int64, err error) {
	read, written, found, err := parseService(filepath.Join(g.Dir, serviceBytes), key)
	if err != nil || found {
		return read, written, err
	}
	_, _, active, err := parseService(filepath.Join(g.Root, serviceBytes), key)
	if err == nil && !active {
		err = fmt.Errorf("the kernel counts on %s only after a first limit was set on it: %w", key, ErrNotCounted)
	}
	return 0, 0, err
}

func parseService(name string, key device.Number) (read, written int64, found bool, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, false, err
	}
	of := key.String()
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != of {
			continue
		}
		n, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return 0, 0, false, fmt.Errorf("%s: %w", serviceBytes, err)
		}
		switch fields[1] {
		case "Read":
			read, found = n, true
		case "Write":
			written, found = n, true
		}
	}
	return read, written, found, nil
}
