package verify_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/device"
	"plimsoll/internal/disktest"
	"plimsoll/internal/engine"
	"plimsoll/internal/limit/verify"
	"plimsoll/internal/workertest"
)

// A bench is a worker in a group of its own, on a disk of its own.
type bench struct {
	agent  *agent.Agent
	device device.Device
	group  disktest.Group
	number string
}

// newBench makes one with a file system. The device's limits in the group are the test's to set.
func newBench(t *testing.T, fs string) bench {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	loop, dir := disktest.Disk(t, disktest.Options{Kind: fs, Size: 512 << 20, Direct: true, Memory: true})
	stack, err := device.Host().Of(loop)
	if err != nil || stack.Device == nil {
		t.Fatalf("no device under %s: %+v, %v", loop, stack, err)
	}
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
	return bench{a, *stack.Device, group, disktest.Number(t, loop)}
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
			var rows []verify.Row
			for range 4 {
				var err error
				rows, err = verify.Run(t.Context(), verify.Request{
					Agent: b.agent, Device: b.device, FS: device.Host(),
					Asked: map[verify.Key]int64{verify.WriteBPS: 8 << 20}, Time: verify.LeastTime,
					OnRow: func(r verify.Row) { t.Logf("%s %s: %s; %+v", r.Key, r.Mode, r.Words(), r) },
				})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(rows, func(r verify.Row) bool { return r.Verdict == verify.Unproved }) {
					break
				}
				// A machine that is busy with other tests may not reach the limit now and then.
			}
			want := map[verify.Mode]verify.Verdict{
				verify.Direct: verify.Held, verify.DSync: verify.Held, verify.BufferedSync: verify.Held, verify.Buffered: verify.NotHeld,
			}
			if len(rows) != len(want) {
				t.Fatalf("%d rows, want %d", len(rows), len(want))
			}
			for _, r := range rows {
				if fs == "btrfs" && r.Mode == verify.Buffered {
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
	asked := map[verify.Key]int64{verify.WriteBPS: 1 << 20, verify.ReadIOPS: 50}
	rows, err := verify.Run(t.Context(), verify.Request{
		Agent: b.agent, Device: b.device, FS: device.Host(), Asked: asked, Time: verify.LeastTime,
		Modes: []verify.Mode{verify.Direct, verify.BufferedSync},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3: %+v", len(rows), rows)
	}
	for _, r := range rows {
		if r.Verdict != verify.NotHeld {
			t.Errorf("%s %s: %s, want it not held", r.Key, r.Mode, r.Words())
		}
	}
}

// TestIOPS: a limit on I/Os holds, and one that is out of reach is not taken for held.
func TestIOPS(t *testing.T) {
	t.Parallel()
	b := newBench(t, "ext4")
	b.put(t, "blkio.throttle.read_iops_device", 200)
	b.put(t, "blkio.throttle.write_iops_device", 100)
	rows, err := verify.Run(t.Context(), verify.Request{
		Agent: b.agent, Device: b.device, FS: device.Host(), Time: verify.LeastTime,
		Asked: map[verify.Key]int64{verify.ReadIOPS: 200, verify.WriteIOPS: 100, verify.WriteBPS: 1 << 40, verify.ReadBPS: 1 << 40},
		Modes: []verify.Mode{verify.Direct},
		OnRow: func(r verify.Row) { t.Logf("%s %s: %s; %+v", r.Key, r.Mode, r.Words(), r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[verify.Key]verify.Verdict{
		verify.ReadIOPS: verify.Held, verify.WriteIOPS: verify.Held,
		// Hidden behind the limit on I/Os.
		verify.ReadBPS: verify.Unproved, verify.WriteBPS: verify.Unproved,
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
	_, err := verify.Run(ctx, verify.Request{Agent: b.agent, Device: b.device, FS: device.Host(), Asked: map[verify.Key]int64{verify.WriteBPS: 4 << 20}})
	if err != context.DeadlineExceeded {
		t.Errorf("error %v, want the deadline", err)
	}
}
