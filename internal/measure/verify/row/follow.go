package row

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/workload"
)

// sampleEvery is the interval at which the application and the device are followed: the length of a
// limiter's slice.
const sampleEvery = 100 * time.Millisecond

// A point is how much a device has done by a time since the start.
type point struct {
	at time.Duration
	count
	// charge is what was charged to groups by then, nil where the kernel doesn't count that.
	charge *charge
}

// followEvery is how often the device is looked at: what escapes a limit may be over in a few hundredths of a second.
const followEvery = 20 * time.Millisecond

// A follower reads a device's counters until its end.
type follower struct {
	begin      time.Time
	stop, done chan struct{}
	points     []point
}

// follow starts to read the counters of the request's device.
func (r Request) follow() *follower {
	f := &follower{begin: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	look := func() {
		if n, err := counters(r.FS, r.Device); err == nil {
			f.points = append(f.points, point{at: time.Since(f.begin), count: n, charge: r.charges()})
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
func (f *follower) end() []point {
	close(f.stop)
	<-f.done
	return f.points
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
