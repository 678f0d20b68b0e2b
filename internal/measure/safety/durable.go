package safety

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/step"
	"plimsoll/internal/measure/workload"
)

// syncTries is how many fsyncs must reach the disk.
const syncTries = 20

// fsync counts the flushes of the disks below while the place answers fsyncs.
func (c *checker) fsync() (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	sync := step.Call{Op: step.Sync, Path: dir + "/file", How: "fsync", Count: syncTries, Wait: 2 * time.Second}
	// Once beforehand: the file's first sync may have more to do.
	if err := c.must(c.main, sync); err != nil {
		return "", "", err
	}
	stack := c.stack()
	if c.FSType == "tmpfs" || c.FSType == "ramfs" {
		return No, "the place is memory: nothing survives a reboot", nil
	}
	if stack == nil {
		return Unknown, "the disk is not on this machine, or can't be seen", nil
	}
	if why := stack.InMemory(); why != "" {
		return No, why + ": nothing survives a reboot", nil
	}
	below, served, why := syncedTo(stack, device.Host())
	if why != "" {
		return Unknown, why, nil
	}
	// What others flush meanwhile is measured before, for as long.
	proc := device.Host().Proc
	start := workload.ReadDisks(proc)
	if !start.Known() {
		return Unknown, "the machine does not count flushes", nil
	}
	time.Sleep(otherFlushes)
	mid := workload.ReadDisks(proc)
	began := time.Now()
	a, err := c.do(c.main, sync)
	if err != nil {
		return "", "", err
	}
	if !a.OK() {
		return No, a.Error, nil
	}
	took := time.Since(began)
	end := workload.ReadDisks(proc)
	others, counted := start.Until(mid)
	own, _ := mid.Until(end)
	if !counted {
		return Unknown, "this kernel does not count flushes (Linux does since 5.5)", nil
	}
	return flushed(stack, below, served, len(a.Times), own, scaled(others, took))
}

// syncedTo are the devices that a sync must flush. served is set if a program serves the place, so that they may be any of the
// machine's. why is the reason if that can't be known: the data goes to another machine.
func syncedTo(stack *device.Stack, fs device.FS) (below []device.Layer, served bool, why string) {
	layers := stack.Layers()
	served = stack.Served()
	switch {
	case served && strings.Contains(stack.Mount.Source, ":"), !served && len(layers) == 0:
		return nil, served, cmp.Or(stack.Why, "the data goes to another machine")
	case served:
		return fs.Volatile(layers), true, ""
	}
	return slices.DeleteFunc(slices.Clone(layers), func(l device.Layer) bool { return !l.Volatile }), false, ""
}

// otherFlushes is how long the flushes of other programs are counted.
const otherFlushes = 100 * time.Millisecond

// scaled is how many flushes others cause in a time, by the disk's name.
func scaled(others []workload.DiskDelta, took time.Duration) map[string]int64 {
	m := map[string]int64{}
	for _, d := range others {
		m[d.Name] = int64(float64(d.Flushes)*float64(took)/float64(otherFlushes) + 0.999)
	}
	return m
}

// flushed judges the flushes that the disks counted during some syncs.
func flushed(stack *device.Stack, below []device.Layer, served bool, syncs int, own []workload.DiskDelta, others map[string]int64) (Answer, string, error) {
	count := func(l device.Layer) (n, foreign int64) {
		for _, p := range l.Parts {
			for _, d := range own {
				if d.Name == p.Name {
					n, foreign = n+d.Flushes, foreign+others[p.Name]
				}
			}
		}
		return n, foreign
	}
	if len(below) == 0 {
		if served {
			return Unknown, cmp.Or(stack.Why, "what is below the place can't be seen from this machine"), nil
		}
		return Yes, "the disk says that it has no cache that a power cut empties (write through)", nil
	}
	worst := Yes
	detail := ""
	for _, l := range below {
		n, foreign := count(l)
		answer, text := Yes, fmt.Sprintf("%d syncs, %d flushes of %s", syncs, n, l.Name())
		switch {
		case n < int64(syncs):
			answer = No
			if o := stack.Unflushed(); o != "" {
				text += ", mount option " + o
			} else if served {
				text += ": the program that serves the place did not pass them on, or passed them to another machine"
			}
		case n-foreign < int64(syncs):
			answer, text = Unknown, text+", but other programs flush it, too"
		case served:
			text += ", perhaps for these syncs: a program serves the place"
		}
		if detail == "" || answer != Yes && worst != No {
			worst, detail = answer, text
		}
	}
	return worst, detail, nil
}

// wantedSync is what etcd's manual asks of a disk: 99 of 100 fdatasyncs within 10 ms
// (https://etcd.io/docs/v3.5/op-guide/hardware/#disks).
const wantedSync = 10 * time.Millisecond

// fdatasync times syncs of small appends, as etcd's log makes them.
func (c *checker) fdatasync() (Answer, string, error) {
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Sync, Path: dir + "/wal", How: "fdatasync", Count: 200, Wait: 1500 * time.Millisecond})
	if err != nil {
		return "", "", err
	}
	if !a.OK() {
		return No, a.Error, nil
	}
	slices.Sort(a.Times)
	n := len(a.Times)
	p99 := a.Times[n-1-n/100] // One of 100 may be slower.
	text := fmt.Sprintf("99 %% within %s (%d syncs)", short(p99), n)
	if p99 > wantedSync {
		return No, text, nil
	}
	return Yes, text, nil
}

// direct asks whether O_DIRECT leaves the page cache alone.
func (c *checker) direct() (Answer, string, error) {
	const size = 1 << 20
	dir, err := c.folder()
	if err != nil {
		return "", "", err
	}
	a, err := c.do(c.main, step.Call{Op: step.Direct, Path: dir + "/file", Length: size})
	if err != nil {
		return "", "", err
	}
	switch {
	case !a.OK():
		return No, "it is refused: " + reason(a), nil
	case a.N < 0:
		return Unknown, "the page cache can't be asked", nil
	case a.N > size/10:
		return No, fmt.Sprintf("it is accepted, but %d %% of the file is cached", a.N*100/size), nil
	}
	return Yes, "", nil
}
