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

// sampleEvery is the interval at which the application and the device are followed: the length of a
// limiter's slice.
const sampleEvery = 100 * time.Millisecond

// A sample is how much a device has done by a time since the start.
type sample struct {
	at time.Duration
	count
	// charged is what was charged to groups by then, nil where the kernel doesn't count that.
	charged *charges
}

// A count is what was done so far: by a device, or by the device for a group.
type count struct{ reads, writes, readBytes, writtenBytes int64 }

// plus is n and times as much of o.
func (n count) plus(o count, times int64) count {
	return count{n.reads + times*o.reads, n.writes + times*o.writes, n.readBytes + times*o.readBytes, n.writtenBytes + times*o.writtenBytes}
}

// charges are what the kernel has charged on the request's device so far.
//
// They tell a row from its neighbours: the device's own counters are of all who use it. In version 1 an I/O is
// charged when it is submitted, before a limit makes it wait: over a short time the figures may be ahead of the
// device's, over all of a row they are the same.
type charges struct {
	// group is what was charged to the group that the limit is for.
	group count
	// root is what was charged to version 1's root group: what the kernel writes back, whoever wrote it. nil in version 2, where each group
	// is charged for that.
	root *count
	// otherGroups is what was charged in version 1 to the target's other groups, each of which has a limit for itself or none.
	otherGroups count
	// others is what was charged in version 1 to all groups but the target's, the root group among them; nil in version 2.
	others *count
}

// followEvery is how often the device is looked at: what escapes a limit may be over in a few hundredths of a second.
const followEvery = 20 * time.Millisecond

// A follower reads a device's counters until its end.
type follower struct {
	begin      time.Time
	stop, done chan struct{}
	samples    []sample
}

// follow starts to read the counters of the request's device.
func (r Request) follow() *follower {
	f := &follower{begin: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	look := func() {
		if n, err := counters(r.FS, r.Device); err == nil {
			f.samples = append(f.samples, sample{at: time.Since(f.begin), count: n, charged: r.charges()})
		}
	}
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

// end stops reading and returns what was read.
func (f *follower) end() []sample {
	close(f.stop)
	<-f.done
	return f.samples
}

// flush has the kernel's flusher write back what is in the page cache, as it would some seconds later, or as
// soon as there is much of it. It takes as long as a limit makes it.
func (r Request) flush(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		// Who shares the volume may have put something else there by now.
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
	name := filepath.Join(fs.Sys, "dev", "block", d.Number().String(), "stat")
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

// charges reads them; nil where the kernel doesn't count, or where the request names no group.
func (r Request) charges() *charges {
	if r.Group == nil {
		return nil
	}
	key := r.Device.Number()
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
	// A group that has done nothing there is not listed; the root group is, wherever the kernel counts.
	root, counted, err := read(r.RootGroup)
	if err != nil || !counted {
		return nil
	}
	c := &charges{group: group, root: &root}
	for _, g := range r.OtherGroups {
		// One that has gone has no count any more: its part is others' from then on.
		if n, _, err := read(g); err == nil {
			c.otherGroups = c.otherGroups.plus(n, 1)
		}
	}
	if all, err := cgroupio.Everybody(r.RootGroup, os.ReadFile); err == nil {
		a := all[key]
		n := (count{a.Reads, a.Writes, a.ReadBytes, a.WriteBytes}).plus(group, -1).plus(c.otherGroups, -1)
		c.others = &n
	}
	return c
}
