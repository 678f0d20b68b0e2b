package row

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/measure/workload"
)

// sampleEvery is the interval at which the application and the device are followed: the length of a limiter's slice.
const sampleEvery = 100 * time.Millisecond

// A sample is the total of a device's work by a time since the start.
type sample struct {
	at time.Duration
	count
	// charged is what was charged to groups by then; nil if the kernel doesn't count that.
	charged *charges
}

// A count is the total of the work of a device, or of a device for one group.
type count struct{ reads, writes, readBytes, writtenBytes int64 }

// plus returns n + times*o.
func (n count) plus(o count, times int64) count {
	return count{n.reads + times*o.reads, n.writes + times*o.writes, n.readBytes + times*o.readBytes, n.writtenBytes + times*o.writtenBytes}
}

// charges are the kernel's charges on the request's device so far.
//
// They separate a row from its neighbours, because the device's own counters include all its users. Version 1 charges
// an I/O when it is submitted, before a limit makes it wait. Over a short time the charges may be ahead of the device's
// counters; over a whole row they agree.
type charges struct {
	// group is what was charged to the group that the limit is for.
	group count
	// root is what was charged to version 1's root group: what the kernel writes back, regardless of the writer. nil
	// with version 2, which charges the writers' groups.
	root *count
	// otherGroups is what version 1 charged to the target's other groups, each of which has its own limit or none.
	otherGroups count
	// others is what version 1 charged to all groups except the target's, including the root group; nil with version 2.
	others *count
	// each has the counts of the request's OtherGroups; a removed group keeps its last one.
	each []count
	// all is the kernel's sum of all groups, without what it has lost; lost is the difference.
	all, lost count
}

// followEvery is the interval at which the device's counters are read: I/O that escapes a limit may take only a few
// hundredths of a second.
const followEvery = 20 * time.Millisecond

// A follower reads a device's counters until it is ended.
type follower struct {
	begin      time.Time
	stop, done chan struct{}
	samples    []sample
}

// follow starts to read the counters of the request's device.
func (r Request) follow() *follower {
	f := &follower{begin: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	look := func() { f.look(r) }
	look()
	go func() {
		defer close(f.done)
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-f.stop:
				look()
				return
			}
		}
	}()
	return f
}

// look reads the counters once.
func (f *follower) look(r Request) {
	n, err := counters(r.FS, r.Device)
	if err != nil {
		return
	}
	s := sample{at: time.Since(f.begin), count: n}
	var before *sample
	if len(f.samples) > 0 {
		before = &f.samples[len(f.samples)-1]
	}
	s.charged = r.charges(before, n)
	f.samples = append(f.samples, s)
}

// end stops reading and returns what was read.
func (f *follower) end() []sample {
	close(f.stop)
	<-f.done
	return f.samples
}

// flush makes the kernel's flusher write back the page cache, as it would some seconds later, or as soon as there is
// much dirty data. It takes as long as the limit makes it.
func (r Request) flush(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		// Another user of the volume may have replaced the folder by now.
		dir, err := workload.OpenFolder(r.Agent.Info().HostPath)
		if err != nil {
			done <- fmt.Errorf("the scratch folder: %w", err)
			return
		}
		done <- workload.SyncFS(dir)
		dir.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// counters reads a device's own counters (Documentation/block/stat.rst of the kernel): reads, merges, sectors
// and milliseconds, then the same of writes. Sectors have 512 bytes.
func counters(fs device.FS, d device.Device) (count, error) {
	name := filepath.Join(fs.Sys, "dev", "block", d.Number.String(), "stat")
	b, err := os.ReadFile(name)
	if err != nil {
		return count{}, err
	}
	var n [7]int64
	fields := strings.Fields(string(b))
	if len(fields) < len(n) {
		return count{}, fmt.Errorf("%s: %q has fewer than %d numbers", name, b, len(n))
	}
	for i := range n {
		if n[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return count{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return count{reads: n[0], writes: n[4], readBytes: n[2] * 512, writtenBytes: n[6] * 512}, nil
}

// charges reads the charges; nil if the kernel doesn't count them, or if the request names no group. before is the
// sample before, if there is one, and device is what the device has done by now.
func (r Request) charges(before *sample, device count) *charges {
	if r.Group == nil {
		return nil
	}
	key := r.Device.Number
	read := func(g *hierarchy.Group) (n count, listed bool, err error) {
		all, err := cgroupio.GroupCounters(g, os.ReadFile)
		c, listed := all[key]
		return count{c.Reads, c.Writes, c.ReadBytes, c.WriteBytes}, listed, err
	}
	group, _, err := read(r.Group)
	if err != nil {
		return nil
	}
	if r.Group.Version == 2 {
		return &charges{group: group}
	}
	if r.RootGroup == nil {
		return nil
	}
	// A group that has done nothing on the device is not listed. The root group is, wherever the kernel counts.
	root, counted, err := read(r.RootGroup)
	if err != nil || !counted {
		return nil
	}
	c := &charges{group: group, root: &root}
	for i, g := range r.OtherGroups {
		n, _, err := read(g)
		if err != nil && before != nil && before.charged != nil {
			n = before.charged.each[i]
		}
		c.each = append(c.each, n)
		c.otherGroups = c.otherGroups.plus(n, 1)
	}
	if all, err := cgroupio.Everybody(r.RootGroup, os.ReadFile); err == nil {
		a := all[key]
		c.all = count{a.Reads, a.Writes, a.ReadBytes, a.WriteBytes}
		if before != nil && before.charged != nil {
			c.keep(before.charged, device.plus(before.count, -1))
		}
		n := c.all.plus(c.lost, 1).plus(group, -1).plus(c.otherGroups, -1)
		c.others = &n
	}
	return c
}

// keep adds what the kernel's sum of all groups has lost since the charges before: when a group is removed, its counts
// go out of the sum. Without them, others would have done less than nothing, and the target that much more. In a time
// in which the sum falls, it takes what the device did as everybody's.
func (c *charges) keep(before *charges, device count) {
	target := c.group.plus(c.otherGroups, 1).plus(before.group, -1).plus(before.otherGroups, -1)
	lost := func(now, was, device, target int64) int64 {
		if now >= was {
			return 0
		}
		return was - now + max(device, target)
	}
	c.lost = before.lost.plus(count{
		lost(c.all.reads, before.all.reads, device.reads, target.reads),
		lost(c.all.writes, before.all.writes, device.writes, target.writes),
		lost(c.all.readBytes, before.all.readBytes, device.readBytes, target.readBytes),
		lost(c.all.writtenBytes, before.all.writtenBytes, device.writtenBytes, target.writtenBytes),
	}, 1)
}
