package row_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

// Most tests wait, for disks that are throttled.
func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// A bench is a worker in a group of its own, on a disk of its own.
type bench struct {
	agent  *agent.Agent
	device device.Device
	group  disktest.Group
	number string
	dir    string
	// own is its group, root the root group.
	own, root *hierarchy.Group
}

// newBench makes one with a file system. The device's limits in the group are the test's to set.
func newBench(t *testing.T, fs string) bench {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	loop, dir := disktest.Disk(t, disktest.Options{Kind: fs, Size: 512 << 20, Direct: true, Memory: true})
	return benchOn(t, group, loop, dir)
}

// deviceOf is what is known of a disk.
func deviceOf(t *testing.T, loop string) device.Device {
	t.Helper()
	stack, err := device.Host().Of(loop)
	if err != nil || stack.Device == nil {
		t.Fatalf("no device under %s: %+v, %v", loop, stack, err)
	}
	return *stack.Device
}

// benchOn is a worker in a group on a disk's file system.
func benchOn(t *testing.T, group disktest.Group, loop, dir string) bench {
	t.Helper()
	s, err := engine.OpenInside(t.Context(), t.TempDir(), workertest.Source(t), engine.Inside{ID: "v", Root: dir, Dir: "/", Groups: []string{string(group)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	own, err := tree.At(string(group), hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root(hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	return bench{a, deviceOf(t, loop), group, disktest.Number(t, loop), dir, own, root}
}

// request asks for limits to be verified there.
func (b bench) request(t *testing.T, asked map[limit.Key]int64, modes ...row.Mode) row.Request {
	return row.Request{
		Agent: b.agent, Device: b.device, FS: device.Host(), Group: b.own, RootGroup: b.root, Asked: asked, Modes: modes, Time: row.LeastTime,
		OnRow: func(r row.Row) { t.Logf("%s %s: %s; %#v", r.Key, r.Mode, r.Words(), r) },
	}
}

// whole puts a limit on the device into the root group's file, until the test ends.
func (b bench) whole(t *testing.T, file string, value int64) {
	t.Helper()
	root := disktest.Group(b.root.Dir)
	t.Cleanup(func() {
		if err := root.Put(file, b.number+" 0"); err != nil {
			t.Error(err)
		}
	})
	if err := root.Put(file, fmt.Sprintf("%s %d", b.number, value)); err != nil {
		t.Fatal(err)
	}
}

// neighbour writes directly to the bench's disk, in a group of its own without a limit, until the test ends.
func (b bench) neighbour(t *testing.T) {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	file := filepath.Join(b.dir, "neighbour")
	group.Run(t, "sh", "-c", `while dd if=/dev/zero of="$0" bs=1M count=64 oflag=direct conv=notrunc status=none; do :; done`, file)
	before := disktest.Count(t, "/dev/"+b.device.Name)
	for end := time.Now().Add(20 * time.Second); disktest.Count(t, "/dev/"+b.device.Name).Since(before).BytesWritten < 64<<20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the neighbour doesn't write")
		}
	}
}

// TestNeighbour: a buffered row is not judged by what another group writes to the device. The limit in the root group
// holds what the flusher writes back; the whole device does a hundred times as much.
func TestNeighbour(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.whole(t, "blkio.throttle.write_bps_device", 4<<20)
	b.put(t, "blkio.throttle.write_bps_device", 4<<20)
	b.neighbour(t)
	for range 4 {
		rows, err := row.Run(t.Context(), b.request(t, map[limit.Key]int64{limit.WriteBPS: 4 << 20}, row.Direct, row.Buffered))
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 2 {
			t.Fatalf("%d rows, want 2", len(rows))
		}
		held := true
		for _, r := range rows {
			if r.Verdict == judge.NotHeld || r.Verdict == judge.Failed {
				t.Errorf("%s: %s", r.Mode, r.Words())
			}
			if r.Others <= 0 || r.Others < r.Device/2 {
				t.Errorf("%s: the device did %s, of which %s were the neighbour's", r.Mode, r.Rate(r.Device), r.Rate(r.Others))
			}
			held = held && r.Verdict == judge.Held
		}
		if held || t.Failed() {
			return
		}
		// A machine that is busy with other tests may not reach the limit now and then.
	}
	t.Error("not once were both held")
}

// TestNotTold: where the kernel can't tell others' writes apart, because they are written back by it too, nothing is
// said not to hold.
func TestNotTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.whole(t, "blkio.throttle.write_bps_device", 4<<20)
	b.neighbour(t)
	// As on a kernel that doesn't count.
	r := b.request(t, map[limit.Key]int64{limit.WriteBPS: 4 << 20}, row.Buffered)
	r.Group, r.RootGroup = nil, nil
	rows, err := row.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Verdict != judge.Unproved || !strings.Contains(rows[0].Why, "others used the device too") {
		t.Errorf("rows %+v, want one that is unproved for the others", rows)
	}
}

// TestFigures: the figures of rows of a real device are those of a limit that holds, reads through the page cache too.
func TestFigures(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	const asked = 8 << 20
	b.put(t, "blkio.throttle.read_bps_device", asked)
	b.put(t, "blkio.throttle.write_bps_device", asked)
	for try := range 4 {
		rows, err := row.Run(t.Context(), b.request(t, map[limit.Key]int64{limit.ReadBPS: asked, limit.WriteBPS: asked}))
		if err != nil {
			t.Fatal(err)
		}
		// A limit of the group's own doesn't hold what the flusher writes back.
		rows = slices.DeleteFunc(rows, func(r row.Row) bool { return r.Key.Writes() && r.Mode == row.Buffered })
		if len(rows) != 5 {
			t.Fatalf("%d rows, want 5", len(rows))
		}
		if try < 3 && slices.ContainsFunc(rows, func(r row.Row) bool {
			return r.Verdict == judge.Unproved || r.Off < -0.2 || r.Mode == row.Direct && r.Converged < 0
		}) {
			continue // The machine is busy with other tests.
		}
		for _, r := range rows {
			if r.Verdict != judge.Held || r.Off > row.DefaultTolerance || r.Off < -0.2 {
				t.Errorf("%s %s: %s, off by %v", r.Key, r.Mode, r.Words(), r.Off)
			}
			// Nobody else is there: what came down is what the row did, with a journal at most.
			if r.App <= 0 || r.Device <= 0 || r.Seen <= 0 || r.Device > 1.5*asked || r.Others < 0 || r.Others > asked/2 {
				t.Errorf("%s %s: application %v, device %v, others %v, seen %v of %v", r.Key, r.Mode, r.App, r.Device, r.Others, r.Seen, float64(asked))
			}
			if math.IsNaN(r.Off) || math.IsInf(r.Off, 0) || math.IsNaN(r.Overshoot) || r.Overshoot < 0 || r.Overshoot > 1 {
				t.Errorf("%s %s: off %v, overshoot %v", r.Key, r.Mode, r.Off, r.Overshoot)
			}
			if r.Elapsed < row.LeastTime/2 || r.Elapsed > time.Minute || r.Converged > r.Elapsed {
				t.Errorf("%s %s: elapsed %v, converged %v", r.Key, r.Mode, r.Elapsed, r.Converged)
			}
			// Direct I/O has a steady part, which is there within its time.
			if r.Mode == row.Direct && r.Converged < 0 {
				t.Errorf("%s %s never came near the limit", r.Key, r.Mode)
			}
		}
		return
	}
}

// put writes a limit into the group's file.
func (b bench) put(t *testing.T, file string, value int64) {
	t.Helper()
	if err := b.group.Put(file, fmt.Sprintf("%s %d", b.number, value)); err != nil {
		t.Fatal(err)
	}
}

// TestModes: version 1's controller holds what a process sends itself, and the kernel's flusher passes
// it by.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fs)
			b.put(t, "blkio.throttle.write_bps_device", 8<<20)
			var rows []row.Row
			for range 4 {
				var err error
				rows, err = row.Run(t.Context(), row.Request{
					Agent: b.agent, Device: b.device, FS: device.Host(), Group: b.own, RootGroup: b.root,
					Asked: map[limit.Key]int64{limit.WriteBPS: 8 << 20}, Time: row.LeastTime,
					OnRow: func(r row.Row) { t.Logf("%s %s: %s; %#v", r.Key, r.Mode, r.Words(), r) },
				})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(rows, func(r row.Row) bool { return r.Verdict == judge.Unproved }) {
					break
				}
				// A machine that is busy with other tests may not reach the limit now and then.
			}
			want := map[row.Mode]judge.Verdict{
				row.Direct: judge.Held, row.DSync: judge.Held, row.BufferedSync: judge.Held, row.Buffered: judge.NotHeld,
			}
			if len(rows) != len(want) {
				t.Fatalf("%d rows, want %d", len(rows), len(want))
			}
			for _, r := range rows {
				if fs == "btrfs" && r.Mode == row.Buffered {
					// Its writers do a part of the flusher's work themselves, so that some are held.
					continue
				}
				if r.Verdict != want[r.Mode] {
					t.Errorf("%s: %s, want %s", r.Mode, r.Words(), want[r.Mode])
				}
			}
		})
	}
}

// TestNothingLimits: without a limit in the kernel, what was asked for is found not to hold.
func TestNothingLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	asked := map[limit.Key]int64{limit.WriteBPS: 1 << 20, limit.ReadIOPS: 50}
	rows, err := row.Run(t.Context(), row.Request{
		Agent: b.agent, Device: b.device, FS: device.Host(), Asked: asked, Time: row.LeastTime,
		Modes: []row.Mode{row.Direct, row.BufferedSync},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 4: %+v", len(rows), rows)
	}
	for _, r := range rows {
		if !r.Key.Writes() && r.Mode == row.BufferedSync {
			if r.Verdict != judge.Unproved || !strings.Contains(r.Why, "reads don't sync") {
				t.Errorf("%s %s: %s, want it unproved, for reads don't sync", r.Key, r.Mode, r.Words())
			}
			continue
		}
		if r.Verdict != judge.NotHeld {
			t.Errorf("%s %s: %s, want it not held", r.Key, r.Mode, r.Words())
		}
	}
}

// TestIOPS: a limit on I/Os holds, and one that is out of reach is not taken for held.
func TestIOPS(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.put(t, "blkio.throttle.read_iops_device", 60)
	b.put(t, "blkio.throttle.write_iops_device", 40)
	rows, err := row.Run(t.Context(), row.Request{
		Agent: b.agent, Device: b.device, FS: device.Host(), Time: row.LeastTime,
		Asked: map[limit.Key]int64{limit.ReadIOPS: 60, limit.WriteIOPS: 40, limit.WriteBPS: 1 << 40, limit.ReadBPS: 1 << 40},
		Modes: []row.Mode{row.Direct},
		OnRow: func(r row.Row) { t.Logf("%s %s: %s; %#v", r.Key, r.Mode, r.Words(), r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[limit.Key]judge.Verdict{
		limit.ReadIOPS: judge.Held, limit.WriteIOPS: judge.Held,
		// Hidden behind the limit on I/Os.
		limit.ReadBPS: judge.Unproved, limit.WriteBPS: judge.Unproved,
	}
	for _, r := range rows {
		if r.Verdict != want[r.Key] {
			t.Errorf("%s: %s, want %s", r.Key, r.Words(), want[r.Key])
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
}

// TestInterrupt: a verification that is broken off ends soon, and says what it was broken off for.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.put(t, "blkio.throttle.write_bps_device", 4<<20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := row.Run(ctx, row.Request{Agent: b.agent, Device: b.device, FS: device.Host(), Asked: map[limit.Key]int64{limit.WriteBPS: 4 << 20}})
	if err != context.DeadlineExceeded {
		t.Errorf("error %v, want the deadline", err)
	}
}
