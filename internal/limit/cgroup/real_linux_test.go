package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

const mib = 1 << 20

// TestRealRates: what was set holds direct I/O by the kernel's own doing, in both directions and
// units, and what was removed doesn't.
func TestRealRates(t *testing.T) {
	l := newLab(t, hierarchy.IO)
	if l == nil {
		return
	}
	l.loop()
	want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 2 * mib, ReadBPS: 3 * mib}}, Devices: []device.Number{l.num}}
	if n := l.hold(want); n == 0 {
		t.Error("no write")
	}
	if n := l.hold(want); n != 0 {
		t.Errorf("held again: %d writes", n)
	}
	if diff := cmp.Diff(limit.Limits{WriteBPS: 2 * mib, ReadBPS: 3 * mib}, l.states()[0].Devices[l.num]); diff != "" {
		t.Error(diff)
	}
	l.limited("4 MiB written at 2 MiB/s", 2*time.Second, l.io("", "write", 4*mib, 64<<10))
	l.limited("6 MiB read at 3 MiB/s", 2*time.Second, l.io("", "read", 6*mib, 64<<10))

	l.hold(Want{Change: limit.Change{Set: limit.Limits{WriteIOPS: 50}, Remove: []limit.Key{limit.WriteBPS}}, Devices: []device.Number{l.num}})
	if diff := cmp.Diff(limit.Limits{WriteIOPS: 50, ReadBPS: 3 * mib}, l.states()[0].Devices[l.num]); diff != "" {
		t.Error(diff)
	}
	l.limited("100 writes at 50 IOPS", 2*time.Second, l.io("", "write", 100*4096, 4096))
	l.free("8 MiB written with no limit on bytes", 4*time.Second, func() time.Duration { return l.io("", "write", 8*mib, mib) })

	l.hold(Want{Change: limit.Clear()})
	if s := l.states()[0]; len(s.Devices) > 0 {
		t.Errorf("cleared: %+v", s)
	}
	l.free("200 writes after the limit was removed", 4*time.Second, func() time.Duration { return l.io("", "write", 200*4096, 4096) })
	l.free("12 MiB read after the limit was removed", 4*time.Second, func() time.Duration { return l.io("", "read", 12*mib, 64<<10) })
}

// TestRealGroupsBelow: version 1 holds each group by itself, so those below need the limit as well;
// version 2 holds them by the one above.
func TestRealGroupsBelow(t *testing.T) {
	l := newLab(t, hierarchy.IO)
	if l == nil {
		return
	}
	l.loop()
	g, err := l.own.Group(hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	child := filepath.Join(g.Dir, "below")
	want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 2 * mib}}, Devices: []device.Number{l.num}}
	l.hold(want)
	// Made after the limit was set, as by systemd in a container.
	if err := os.Mkdir(child, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.Remove(child)
		for end := time.Now().Add(time.Minute); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); err = os.Remove(child) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if g.Version == 1 {
		l.free("8 MiB written below a limit of version 1", 4*time.Second, func() time.Duration { return l.io("below", "write", 8*mib, 64<<10) })
		if n := l.hold(want); n != 1 {
			t.Errorf("the new group took %d writes, want 1", n)
		}
	} else if n := l.hold(want); n != 0 {
		t.Errorf("the new group took %d writes, want none", n)
	}
	l.limited("4 MiB written below at 2 MiB/s", 2*time.Second, l.io("below", "write", 4*mib, 64<<10))
}

// TestRealMost: the most IOPS are a limit and read back as they are, where one more would be none.
func TestRealMost(t *testing.T) {
	l := newLab(t, hierarchy.IO)
	if l == nil {
		return
	}
	l.loop()
	most := limit.Limits{ReadBPS: limit.MaxBPS, WriteBPS: limit.MinRate, ReadIOPS: limit.MaxIOPS, WriteIOPS: limit.MinRate}
	l.hold(Want{Change: limit.Change{Set: most}, Devices: []device.Number{l.num}})
	if diff := cmp.Diff(most, l.states()[0].Devices[l.num]); diff != "" {
		t.Error(diff)
	}
	l.free("12 MiB read under the most", 4*time.Second, func() time.Duration { return l.io("", "read", 12*mib, 64<<10) })
}

// TestRealOthers: CPUs, shares, memory and the weight are set, read back and removed, and
// CPUs and memory are held.
func TestRealOthers(t *testing.T) {
	l := newLab(t, hierarchy.IO, hierarchy.CPU, hierarchy.Memory)
	if l == nil {
		return
	}
	before := l.states()
	if !before[0].Limits.IsZero() {
		t.Errorf("a new group has %s", before[0].Limits)
	}
	set := limit.Limits{CPUs: 0.2, CPUShares: 512, Memory: 32 * mib, Weight: 300}
	g, _ := l.own.Group(hierarchy.IO)
	if !l.host.hasAny(g, []string{"blkio.bfq.weight", "io.bfq.weight", "io.weight"}) {
		set.Weight = 0
	}
	want := Want{Change: limit.Change{Set: set}}
	l.hold(want)
	if diff := cmp.Diff(set, l.states()[0].Limits); diff != "" {
		t.Error(diff)
	}
	if n := l.hold(want); n != 0 {
		t.Errorf("held again: %d writes", n)
	}
	spin := newHelper(t, nil, "spin")
	l.add(spin)
	if used := spin.duration(); used > 400*time.Millisecond {
		t.Errorf("%v of CPU in a second, under a limit of 0.2", used)
	}
	// More than the limit is not swapped but ends the process.
	fill := newHelper(t, nil, "fill", strconv.Itoa(64*mib))
	l.add(fill)
	if said, err := fill.run(); err == nil || said != "" {
		t.Errorf("64 MiB under a limit of 32 MiB: %q, %v", said, err)
	}
	l.hold(Want{Change: limit.Clear()})
	if diff := cmp.Diff(before, l.states()); diff != "" {
		t.Error(diff)
	}
	fill = newHelper(t, nil, "fill", strconv.Itoa(64*mib))
	l.add(fill)
	if said, err := fill.run(); err != nil || said != "filled 67108864" {
		t.Errorf("64 MiB without a limit: %q, %v", said, err)
	}
}

func (l *lab) add(h *helper) {
	l.Helper()
	if err := l.own.Add(h.cmd.Process.Pid); err != nil {
		l.Fatal(err)
	}
}

// TestRealWeight: bfq and iocost make weights of a device possible, and are asked for; a weight for all
// doesn't lose those of single devices.
func TestRealWeight(t *testing.T) {
	for _, by := range []string{"bfq", "iocost"} {
		t.Run(by, func(t *testing.T) {
			l := newLab(t, hierarchy.IO)
			if l == nil {
				return
			}
			l.loop()
			g, _ := l.own.Group(hierarchy.IO)
			w := Want{Change: limit.Change{Set: limit.Limits{Weight: 300}}, WeightDevices: []device.Number{l.num}}
			if e := l.host.WeightEffect(g, l.num); e.Works() {
				t.Errorf("before: %+v", e)
			}
			if _, err := l.host.Hold(l.own.Target, w); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "is scheduled by none") {
				t.Errorf("before: %v", err)
			}
			d, err := l.host.PlanWeights(l.num, by)
			if by == "iocost" && g.Version == 1 {
				if !errors.Is(err, ErrUnsupported) {
					t.Errorf("iocost in version 1: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n, err := d.Apply(); n != 1 || err != nil {
				t.Fatalf("prerequisite: %d, %v", n, err)
			}
			t.Cleanup(func() {
				for _, e := range d.Edits {
					for _, was := range e.Was {
						if err := l.host.io.write(e.File, was); err != nil {
							t.Error(err)
						}
					}
				}
			})
			if e := l.host.WeightEffect(g, l.num); e.By != by {
				t.Errorf("after: %+v", e)
			}
			l.hold(w)
			l.hold(Want{Change: limit.Change{Set: limit.Limits{Weight: 200}}})
			s := l.states()[0]
			if s.Limits.Weight != 200 || s.Devices[l.num].Weight != 300 {
				t.Errorf("state is %+v", s)
			}
			if n := l.hold(w); n != 0 {
				t.Errorf("held again: %d writes", n)
			}
			l.hold(Want{Change: limit.Clear()})
			if s := l.states()[0]; !s.Limits.IsZero() || len(s.Devices) > 0 {
				t.Errorf("cleared: %+v", s)
			}
		})
	}
}

// TestRealNotPermitted: a user who doesn't own the group is told so, and nothing has changed.
func TestRealNotPermitted(t *testing.T) {
	l := newLab(t, hierarchy.CPU)
	if l == nil {
		return
	}
	g, _ := l.own.Group(hierarchy.CPU)
	h := newHelper(t, &syscall.Credential{Uid: 65534, Gid: 65534}, "hold", g.Path)
	said, err := h.run()
	if err != nil || !strings.HasPrefix(said, "error: cpu_shares: writing ") || !strings.Contains(said, "not permitted; run as root") {
		t.Errorf("said %q, %v", said, err)
	}
	if s := l.states()[0]; !s.Limits.IsZero() {
		t.Errorf("state is %+v", s)
	}
}

// TestRealGone: a group that is removed between planning and writing.
func TestRealGone(t *testing.T) {
	l := newLab(t, hierarchy.CPU)
	if l == nil {
		return
	}
	d, err := l.host.Plan(l.own.Target, Want{Change: limit.Change{Set: limit.Limits{CPUs: 1, CPUShares: 512}}})
	if err != nil || len(d.Edits) != 2 {
		t.Fatal(d, err)
	}
	target := l.own.Target
	if err := l.own.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(); !errors.Is(err, ErrGone) {
		t.Errorf("Apply = %v", err)
	}
	if _, err := l.host.Plan(target, Want{Change: limit.Clear()}); !errors.Is(err, ErrGone) {
		t.Errorf("Plan = %v", err)
	}
}

// TestRealFind: a process is found in its group, and a limit is set for it.
func TestRealFind(t *testing.T) {
	l := newLab(t, hierarchy.CPU, hierarchy.Memory)
	if l == nil {
		return
	}
	h := newHelper(t, nil, "spin")
	l.add(h)
	g, _ := l.own.Group(hierarchy.CPU)
	target, err := l.host.Find(h.cmd.Process.Pid, filepath.Base(g.Path), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.host.Hold(target, Want{Change: limit.Change{Set: limit.Limits{CPUShares: 2048}}}); err != nil {
		t.Fatal(err)
	}
	if s := l.states()[0]; s.Limits.CPUShares != 2048 {
		t.Errorf("state is %+v", s)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait()
	if _, err := l.host.Find(h.cmd.Process.Pid, "", ""); err == nil {
		t.Error("a process that has ended is found")
	}
}

// TestFake: the kernel's answers are those that the other tests rely on.
func TestFake(t *testing.T) {
	l := newLab(t, hierarchy.IO, hierarchy.CPU, hierarchy.Memory)
	if l == nil {
		return
	}
	l.loop()
	for _, tt := range []struct {
		c     hierarchy.Controller
		v     int
		file  string
		texts []string
	}{
		{hierarchy.IO, 1, "blkio.throttle.write_bps_device", []string{"DEV 100", "DEV 1", "DEV 0", "DEV x", "DEV -5", "99:9 100", "x 100", "DEV 18446744073709551615"}},
		{hierarchy.IO, 1, "blkio.throttle.read_iops_device", []string{"DEV 100", "DEV 4294967294", "DEV 4294967295", "DEV 7", "DEV 0"}},
		{hierarchy.IO, 1, "blkio.bfq.weight", []string{"300", "0", "1001", "1000", "x", "100"}},
		{hierarchy.IO, 1, "blkio.bfq.weight_device", []string{"DEV 200", "default 300", "BFQ", "DEV 200", "DEV 0", "DEV 1001", "DEV 300", "400", "DEV 300", "DEV default", "NONE"}},
		{hierarchy.IO, 2, "io.max", []string{"DEV rbps=100", "DEV wbps=2 riops=5", "DEV rbps=1", "DEV rbps=0", "DEV wiops=4294967295", "DEV rbps=x", "DEV foo=5", "99:9 rbps=5", "DEV rbps=max", "DEV wbps=max riops=max"}},
		// Not for a device: a loop device that once had iocost takes it ever after.
		{hierarchy.IO, 2, "io.weight", []string{"300", "default 5000", "0", "10001", "x", "default 100"}},
		{hierarchy.CPU, 1, "cpu.cfs_quota_us", []string{"150000", "999", "x", "1000", "-1"}},
		{hierarchy.CPU, 1, "cpu.shares", []string{"512", "1", "262145", "x"}},
		{hierarchy.CPU, 2, "cpu.max", []string{"150000 100000", "999 100000", "50000 50000", "max 100000"}},
		{hierarchy.CPU, 2, "cpu.weight", []string{"50", "0", "10001", "10000"}},
		{hierarchy.Memory, 1, "memory.limit_in_bytes", []string{"67108865", "33554432"}},
		{hierarchy.Memory, 1, "memory.memsw.limit_in_bytes", []string{"1048576", "67108864"}},
		{hierarchy.Memory, 1, "memory.limit_in_bytes", []string{"134217728", "-1", "x"}},
		{hierarchy.Memory, 1, "memory.memsw.limit_in_bytes", []string{"-1"}},
		{hierarchy.Memory, 2, "memory.max", []string{"67108865", "x", "max"}},
		{hierarchy.Memory, 2, "memory.swap.max", []string{"0", "4097", "max"}},
	} {
		g, err := l.own.Group(tt.c)
		if err != nil {
			t.Fatal(err)
		}
		if g.Version != tt.v || !l.host.hasAny(g, []string{tt.file}) {
			continue
		}
		f := newFake(t, g.Version, "/c")
		if tt.file == "memory.memsw.limit_in_bytes" || tt.file == "memory.limit_in_bytes" {
			// The two depend on each other.
			for _, file := range []string{"memory.memsw.limit_in_bytes", "memory.limit_in_bytes"} {
				b, _ := os.ReadFile(filepath.Join(g.Dir, file))
				f.put("cg/memory/c/"+file, string(b))
			}
		}
		fg, err := f.target("/c").Group(tt.c)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.texts {
			if text == "BFQ" || text == "NONE" {
				l.schedule(strings.ToLower(text))
				now := "none [bfq] \n"
				if text == "NONE" {
					now = "[none] bfq \n"
				}
				f.put("sys/devices/vda/queue/scheduler", now)
				continue
			}
			real, rerr := answerOf(l.host.io, g.Dir, tt.file, strings.ReplaceAll(text, "DEV", l.num.String()))
			fake, ferr := answerOf(f, fg.Dir, tt.file, strings.ReplaceAll(text, "DEV", vda.String()))
			real = strings.ReplaceAll(real, l.num.String()+" ", "DEV ")
			fake = strings.ReplaceAll(fake, vda.String()+" ", "DEV ")
			if real != fake || rerr != ferr {
				t.Errorf("%q to %s: the kernel says %v and reads %q, the fake says %v and reads %q", text, tt.file, rerr, real, ferr, fake)
			}
		}
	}
}

// answerOf writes a file and reads it.
func answerOf(io files, dir, file, text string) (string, error) {
	err := io.write(filepath.Join(dir, file), text)
	b, rerr := io.read(filepath.Join(dir, file), nil)
	if rerr != nil {
		return "", rerr
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return string(b), number
	}
	return string(b), err
}
