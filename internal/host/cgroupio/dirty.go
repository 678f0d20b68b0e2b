package cgroupio

import (
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
)

// A DirtyRoom is how much unwritten data a process's group may have before the kernel makes writers wait for the disk, if a memory
// limit allows less than the machine's own bound.
type DirtyRoom struct {
	Bytes int64
	// Limit is the memory limit of Group, in bytes.
	Limit int64
	Group string
}

// ReadDirtyRoom returns the room of process pid. It is nil if no memory limit decides it: with version 1, whose groups have no room
// of their own, and if the machine's room is smaller.
//
// The kernel lets writers continue without waiting up to the mean of the two thresholds of vm.dirty_ratio and
// vm.dirty_background_ratio. They are shares of the memory that the group could fill with files, at most its limit
// (domain_dirty_limits and dirty_freerun_ceiling in mm/page-writeback.c).
func ReadDirtyRoom(f device.FS, pid int) (*DirtyRoom, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.Memory)
	if err != nil || g.Version == 1 {
		return nil, err
	}
	var room *DirtyRoom
	for ; g != nil; g = g.Parent() {
		most, high, err := groupLimits(g)
		if err != nil {
			return nil, err
		}
		if n := min(most, high); n < unlimited && (room == nil || n < room.Limit) {
			room = &DirtyRoom{Limit: n, Group: g.Path}
		}
	}
	available, _ := procfs.Available(f.Proc)
	if room == nil || available <= 0 || room.Limit >= available {
		return nil, nil
	}
	// If the thresholds are in bytes, the kernel makes ratios of them, too.
	ratio := func(name string) float64 {
		if n := setting(f, name+"_bytes"); n > 0 {
			return min(1, n/float64(available))
		}
		return setting(f, name+"_ratio") / 100
	}
	most, background := ratio("dirty"), ratio("dirty_background")
	if background >= most {
		background = most / 2
	}
	room.Bytes = int64(float64(room.Limit) * (most + background) / 2)
	return room, nil
}

// setting returns a setting of vm, 0 if it can't be read.
func setting(f device.FS, name string) float64 {
	n, _ := strconv.ParseFloat(strings.TrimSpace(device.Text(f.Proc, "sys", "vm", name)), 64)
	return n
}
