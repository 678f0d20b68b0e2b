package vm

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/text/size"
)

// qemuOverhead is the memory that QEMU takes beside the guest's, mostly for the translated code of an emulated processor.
const qemuOverhead = 160 << 20

// room refuses a machine if there is too little memory for it: the kernel would kill another process instead. It doesn't
// count machines of other programs that start at the same moment, nor memory that running ones have been promised and have
// not touched yet.
func (v *Engine) room(need int64) error { return v.roomIn(device.Host(), need) }

func (v *Engine) roomIn(f device.FS, need int64) error {
	what, takes := "machine of "+size.Bytes(need), fmt.Sprintf("it needs %s with QEMU's own memory, and ", size.Bytes(need+qemuOverhead))
	const smaller = "make memory: or the tmpfs smaller"
	if free, ok := procfs.Available(f.Proc); ok && free < need+qemuOverhead {
		return v.no(what, takes+size.Bytes(free)+" of memory are free here", "free some, or "+smaller)
	}
	tree, err := hierarchy.Read(f)
	if err != nil {
		return nil
	}
	g, err := tree.Of("self", hierarchy.Memory)
	if err != nil {
		return nil
	}
	// QEMU is in this process's group, and all groups above limit it, too.
	for ; g != nil; g = g.Parent() {
		if limit, free, ok := roomOfGroup(g); ok && free < need+qemuOverhead {
			return v.no(what, takes+fmt.Sprintf("the control group %s has %s of its %s free", g.Path, size.Bytes(free), size.Bytes(limit)), "raise the group's limit, or "+smaller)
		}
	}
	return nil
}

// roomOfGroup is the limit of a memory group, and how much of it is free for a new process, counting the pages of files,
// which the kernel drops. ok is false if the group has no limit.
func roomOfGroup(g *hierarchy.Group) (limit, free int64, ok bool) {
	limitFile, usageFile, total := "memory.max", "memory.current", ""
	if g.Version == 1 {
		// The plain counters leave out groups below.
		limitFile, usageFile, total = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
	}
	limit, ok = numberIn(filepath.Join(g.Dir, limitFile))
	used, known := numberIn(filepath.Join(g.Dir, usageFile))
	if !ok || !known {
		return 0, 0, false
	}
	stat, err := os.ReadFile(filepath.Join(g.Dir, "memory.stat"))
	if err != nil {
		return 0, 0, false
	}
	for _, key := range []string{"active_file", "inactive_file"} {
		pages, _ := lookUp(string(stat), total+key)
		used -= pages
	}
	return limit, max(limit-max(used, 0), 0), true
}

// numberIn reads a file with one number of bytes; "max", and version 1's greatest number of pages, are larger than any.
func numberIn(path string) (n int64, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0 && n < 1<<62
}

// lookUp finds a key's number in a text of lines "KEY NUMBER", with or without a unit.
func lookUp(text, key string) (n int64, ok bool) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
