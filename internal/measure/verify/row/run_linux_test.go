package row_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/host/cgroupio"
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
	for end := time.Now().Add(time.Minute); disktest.Count(t, "/dev/"+b.device.Name).Since(before).BytesWritten < 64<<20; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the neighbour doesn't write")
		}
	}
}

// put writes a limit into the group's file.
func (b bench) put(t *testing.T, file string, value int64) {
	t.Helper()
	if err := b.group.Put(file, fmt.Sprintf("%s %d", b.number, value)); err != nil {
		t.Fatal(err)
	}
}

// TestModes: version 1's controller holds what a process sends itself, and the kernel's flusher passes it by. The figures are those of a limit
// that holds, of reads through the page cache too. TestRecorded judges other file systems; the campaign measures them.
func TestModes(t *testing.T) {
	t.Parallel()
	kinds := []string{"ext4"}
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		kinds = append(kinds, "xfs", "btrfs")
	}
	for _, fs := range kinds {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			const asked = 8 << 20
			b := newBench(t, fs)
			b.put(t, readBPS, asked)
			b.put(t, writeBPS, asked)
			rows := b.settled(t, map[limit.Key]int64{limit.ReadBPS: asked, limit.WriteBPS: asked}, func(r row.Row) bool {
				if fs != "ext4" {
					return r.Verdict != judge.Unproved
				}
				return r.Verdict != judge.Unproved && r.Off >= -0.2 && (r.Mode != row.Direct || r.Converged >= 0)
			})
			if len(rows) != 6 {
				t.Fatalf("%d rows, want 2 of reads and 4 of writes", len(rows))
			}
			for _, r := range rows {
				if r.Key.Writes() && r.Mode == row.Buffered {
					// The writers of btrfs do a part of the flusher's work themselves, so that some are held.
					if fs != "btrfs" && r.Verdict != judge.NotHeld {
						t.Errorf("%s %s: %s, want it not held", r.Key, r.Mode, r.Words())
					}
					continue
				}
				if r.Verdict != judge.Held {
					t.Errorf("%s %s: %s, want it held", r.Key, r.Mode, r.Words())
				}
				if fs == "ext4" { // Others add more of their own.
					checkFigures(t, r, asked)
				}
			}
		})
	}
}

// settled tries limits in all modes, and up to three times more each row that is not settled: a machine that is busy with other tests may not
// reach the limit now and then.
func (b bench) settled(t *testing.T, asked map[limit.Key]int64, settled func(row.Row) bool) []row.Row {
	t.Helper()
	try := func(asked map[limit.Key]int64, modes ...row.Mode) []row.Row {
		rows, err := row.Run(t.Context(), b.request(t, asked, modes...))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := try(asked)
	for i := range rows {
		for range 3 {
			if settled(rows[i]) {
				break
			}
			rows[i] = try(rates(rows[i].Key, asked[rows[i].Key]), rows[i].Mode)[0]
		}
	}
	return rows
}

// checkFigures checks the figures of a row that is held on a disk that nobody else uses: what came down is what the row did, with a journal
// at most.
func checkFigures(t *testing.T, r row.Row, asked float64) {
	t.Helper()
	for _, f := range []struct {
		name            string
		is, least, most float64
	}{
		{"application", r.App, 1, math.Inf(1)},
		{"seen", r.Seen, 1, math.Inf(1)},
		{"device", r.Device, 1, 1.5 * asked},
		{"others", r.Others, 0, asked / 2},
		{"off", r.Off, -0.2, row.DefaultTolerance},
		{"overshoot", r.Overshoot, 0, 1},
		{"elapsed", r.Elapsed.Seconds(), row.LeastTime.Seconds() / 2, 60},
		{"converged", r.Converged.Seconds(), -1, r.Elapsed.Seconds()},
	} {
		if !(f.is >= f.least && f.is <= f.most) { // NaN is neither.
			t.Errorf("%s %s: %s is %v, want %v to %v", r.Key, r.Mode, f.name, f.is, f.least, f.most)
		}
	}
	// Direct I/O has a steady part, which is there within its time.
	if r.Mode == row.Direct && r.Converged < 0 {
		t.Errorf("%s %s never came near the limit", r.Key, r.Mode)
	}
}

// TestWaitingNeighbour: a neighbour has synced 100 MiB, which wait at its own limit and were charged before. An idle target's rows said that
// the target itself used 5 MiB/s of its limit.
func TestWaitingNeighbour(t *testing.T) {
	t.Parallel()
	const asked, all = 10 << 20, 100 << 20
	b := newBench(t, "ext4")
	b.put(t, writeBPS, asked)
	other := disktest.NewBlkioGroup(t)
	limited := func(n int) {
		t.Helper()
		if err := other.Put(writeBPS, fmt.Sprintf("%s %d", b.number, n)); err != nil {
			t.Error(err)
		}
	}
	limited(5 << 20)
	other.Run(t, "dd", "if=/dev/zero", "of="+filepath.Join(b.dir, "neighbour"), "bs=1M", "count=100", "conv=fsync", "status=none")
	t.Cleanup(func() { limited(0) })
	g := hierarchy.Group{Version: 1, Dir: string(other), Root: b.root.Dir, Path: "/neighbour"}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if n, err := cgroupio.GroupCounters(&g, os.ReadFile); err == nil && n[b.device.Number].WriteBytes >= all {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the neighbour's data was not charged")
		}
	}
	r := b.request(t, map[limit.Key]int64{limit.WriteBPS: asked}, row.Direct)
	if r.Used = r.Busy(t.Context()); len(r.Used) > 0 {
		t.Errorf("an idle target used %v", r.Used)
	}
	rows, err := row.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if n := rows[0].Own; n > 0 {
		t.Errorf("%s; the target did nothing", rows[0].Words())
	}
}

// TestInterrupt: a verification that is broken off ends soon, and says what it was broken off for.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.put(t, writeBPS, 4<<20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := row.Run(ctx, row.Request{Agent: b.agent, Device: b.device, FS: device.Host(), Asked: map[limit.Key]int64{limit.WriteBPS: 4 << 20}, Time: row.LeastTime})
	if err != context.DeadlineExceeded {
		t.Errorf("error %v, want the deadline", err)
	}
}
