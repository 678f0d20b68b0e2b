package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
)

// TestSlowLook: what others change is restored, and what a container makes is held, also where inotify reports nothing.
func TestSlowLook(t *testing.T) {
	b := newBench(t, Options{Check: 20 * time.Millisecond}, oneRule)
	b.k.watch.close()
	b.k.watch.file = nil
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the keeper is done with it", func() bool { return b.said("held to") })
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
		t.Fatal(err)
	}
	b.has("1048576")
	below := filepath.Join(string(b.group), "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(below)
	eventually(t, "a group that was made is held", func() bool { return rate(filepath.Join(base(b.group), "below"), b.number) == "1048576" })
	eventually(t, "the change is counted", func() bool { s := b.k.Status(); return s.Drift == 1 && s.Checks > 1 })
}

// TestSlowList: a container that nobody tells of is found, as the engines are asked from time to time.
func TestSlowList(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "io.containerd.runtime.v2.task"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: state}}})
	b := newBench(t, Options{Holder: h, Sync: 100 * time.Millisecond}, oneRule)
	// More often than when it begins and when a source is there.
	for range 5 {
		eventually(t, "the engines are asked", func() bool { return b.k.listed.CompareAndSwap(true, false) })
	}
	b.task(state) // One of Docker's, of which containerd's files say nothing by themselves.
	b.has("1048576")
	if s := b.k.Status(); len(s.Containers) != 1 || s.Events != 1 {
		t.Errorf("the state: %+v", s)
	}
}

// TestListLooks: a container that is as it was is looked at when it is listed again, and its rules are asked after a disk came.
func TestListLooks(t *testing.T) {
	state := t.TempDir()
	b := newBench(t, Options{Holder: finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: state}}})}, oneRule)
	b.k.watch.close()
	b.k.watch.file = nil
	b.task(state)
	b.k.Sync(t.Context())
	b.has("1048576")
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
		t.Fatal(err)
	}
	b.k.Sync(t.Context())
	b.has("1048576")
	settled := func() bool {
		e := b.k.all()[0]
		e.mu.Lock()
		defer e.mu.Unlock()
		return !e.settled.IsZero()
	}
	// Others' disks come and go as well.
	eventually(t, "a disk that came is noted", func() bool { b.k.disks(nil); return !settled() })
	eventually(t, "its rules are asked again", func() bool { b.k.Sync(t.Context()); return settled() })
}

// TestPercent: a percentage is of what the device was measured to carry.
func TestPercent(t *testing.T) {
	var b *bench
	most := func(device string) (limit.Limits, error) {
		if "/dev/"+device != b.disk {
			return limit.Limits{}, fmt.Errorf("asked for %s", device)
		}
		return limit.Limits{WriteBPS: 40 << 20, ReadIOPS: 1000}, nil
	}
	b = newBench(t, Options{Ceilings: most}, "rules: []\n")
	b.k.Started(targetOf(b.group))
	b.load("rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 25%, read_iops: 12.5%}}\n")
	b.has("10485760")
	eventually(t, "IOPS, too", func() bool { return throttle(base(b.group), "read_iops", b.number) == "125" })
	// Of what was not measured there is no part.
	b.load("rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 50%, read_bps: 50%}}\n")
	b.has("")
	eventually(t, "the fault is told", func() bool { return b.said("rule one can't be kept: loop") && b.said("no measured rate") })
	b.opt.Ceilings = func(string) (limit.Limits, error) { return limit.Limits{}, errors.New("the records are broken") }
	b.stop()
	b.begin()
	b.k.Started(targetOf(b.group))
	eventually(t, "why is told", func() bool { return b.said("the records are broken") })
}
