package cgroup

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/size"
)

// memory plans the limit on memory and swap together, as package engine gives it to containers: with a limit on
// memory alone, a container would swap, on the very disk whose rates are limited.
//
// Version 2 has memory.max, and swap separately as memory.swap.max. Version 1 has memory.limit_in_bytes, and memory
// and swap together as memory.memsw.limit_in_bytes (where the kernel counts swap). The latter may never be lower than
// the former, which decides the order of writes.
//
// The earlier limits, from Read, may be different: Docker's -m allows as much swap as memory. Limits.Swap has that
// value.
func (p *planner) memory(g *hierarchy.Group, keys []limit.Key) error {
	want := int64(noLimit)
	if m := p.want.Change.Set.Memory; m > 0 {
		// The kernel counts pages, and rounds down.
		want = m - m%int64(os.Getpagesize())
	}
	limitFile, swapFile := memoryFiles(g)
	now, err := p.bytes(g, limitFile)
	if err != nil {
		return p.absent(g, limitFile, err, keys)
	}
	wantSwap := impliedSwap(g, want)
	if s := p.want.Change.Set.Swap; s != "" {
		if wantSwap, err = parseBytes([]byte(s)); err != nil {
			return fmt.Errorf("swap: %w", err)
		}
	}
	set := func(file string, from, to int64) {
		if from == to {
			p.diff.Held++
			return
		}
		p.edit(g, file, device.Number{}, keys, []string{bytesText(g, to)}, []string{bytesText(g, from)})
	}
	swap, err := p.bytes(g, swapFile)
	swapCounted := err == nil
	if g.Version == 2 && want < now {
		if err := p.kills(g, want); err != nil {
			return err
		}
	}
	// Of version 1's two files, the one for both is written first when raised and last when lowered.
	up := g.Version == 1 && want > swap
	if swapCounted && up {
		set(swapFile, swap, wantSwap)
	}
	set(limitFile, now, want)
	if swapCounted && !up {
		set(swapFile, swap, wantSwap)
	}
	return nil
}

// impliedSwap is the value of the swap file for a requested limit.
func impliedSwap(g *hierarchy.Group, memory int64) int64 {
	if g.Version == 2 && memory != noLimit {
		return 0
	}
	return memory
}

func memoryFiles(g *hierarchy.Group) (limit, swap string) {
	if g.Version == 1 {
		return "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	}
	return "memory.max", "memory.swap.max"
}

// noLimit stands for no limit on memory.
const noLimit = math.MaxInt64

// bytes reads a limit in bytes; noLimit without one.
func (p *planner) bytes(g *hierarchy.Group, file string) (int64, error) {
	b, err := p.read(g, file)
	if err != nil {
		return 0, err
	}
	n, err := parseBytes(b)
	if err != nil {
		return 0, fmt.Errorf("%s/%s: %w", g.Dir, file, err)
	}
	return n, nil
}

// parseBytes reads a limit in bytes. No limit is "max" in version 2, and in version 1 the largest number of pages
// (2^63 less a page, so any value above 2^62).
func parseBytes(b []byte) (int64, error) {
	text := string(bytes.TrimSpace(b))
	if text == "max" {
		return noLimit, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number of bytes", text)
	}
	if n >= 1<<62 {
		return noLimit, nil
	}
	return n, nil
}

// bytesText is a limit as it is written.
func bytesText(g *hierarchy.Group, n int64) string {
	switch {
	case n != noLimit:
		return strconv.FormatInt(n, 10)
	case g.Version == 1:
		return "-1"
	}
	return "max"
}

// kills refuses a limit below the memory that the group uses and can't release: version 2 would kill processes.
// (Version 1 refuses it itself, with EBUSY.)
func (p *planner) kills(g *hierarchy.Group, want int64) error {
	used, err := p.bytes(g, "memory.current")
	if err != nil || used <= want {
		return nil // If the usage isn't known, the kernel decides.
	}
	b, err := p.read(g, "memory.stat")
	if err != nil {
		return nil
	}
	droppable := int64(0)
	for line := range bytes.Lines(b) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch key {
		case "active_file", "inactive_file", "slab_reclaimable":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				droppable += n
			}
		}
	}
	if used-droppable <= want {
		return nil
	}
	return &Fault{
		Keys: []limit.Key{limit.Memory}, File: g.Dir,
		Why: fmt.Sprintf("the group uses %s that can't be dropped, so the kernel would kill processes to keep it under %s", size.Bytes(used-droppable), size.Bytes(want)),
		Fix: "ask for more, or let its processes free some first",
	}
}
