package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/texttest"
)

// full sets every key that both versions have.
var full = limit.Limits{
	ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS, Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 64 << 20,
}

// hold holds a target and returns the writes.
func (f *fake) hold(path string, w Want) int {
	f.t.Helper()
	n, err := f.host.Hold(f.target(path), w)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// state is what the group of a target has.
func (f *fake) state(path string) State {
	f.t.Helper()
	s, err := f.host.Read(f.target(path))
	if err != nil {
		f.t.Fatal(err)
	}
	return s[0]
}

// TestSetAndClear: set, read back, nothing left to do, cleared, as before.
func TestSetAndClear(t *testing.T) {
	for _, tt := range []struct {
		version int
		set     limit.Limits
		want    State
	}{
		{1, full, State{Group: "/box/c1", Version: 1, Limits: limit.Limits{Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 64 << 20},
			Devices: map[device.Number]limit.Limits{
				vda: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS},
				sdb: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS},
			}}},
		{2, withLatency(full), State{Group: "/box/c1", Version: 2, Limits: limit.Limits{Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 64 << 20},
			Devices: map[device.Number]limit.Limits{
				vda: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS, Latency: 5 * time.Millisecond},
				sdb: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS, Latency: 5 * time.Millisecond},
			}}},
		{3, full, State{Group: "/box/c1", Version: 1, Limits: limit.Limits{Weight: 300, CPUs: 1.5, CPUShares: 512, Memory: 64 << 20},
			Devices: map[device.Number]limit.Limits{
				vda: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS},
				sdb: {ReadBPS: 10 << 20, WriteBPS: 1e6, ReadIOPS: 100, WriteIOPS: limit.MaxIOPS},
			}}},
	} {
		t.Run(fmt.Sprint("version ", tt.version), func(t *testing.T) {
			f := newFake(t, tt.version, "/box/c1", "/other")
			before := f.everything()
			w := Want{Change: limit.Change{Set: tt.set}, Devices: []device.Number{vda, sdb}}
			if n := f.hold("/box/c1", w); n == 0 || n != len(f.writes) {
				t.Errorf("%d writes counted, %d done: %q", n, len(f.writes), f.writes)
			}
			if diff := cmp.Diff(tt.want, f.state("/box/c1")); diff != "" {
				t.Error(diff)
			}
			if s := f.state("/other"); !s.Limits.IsZero() || len(s.Devices) > 0 {
				t.Errorf("the neighbour has %+v", s)
			}
			f.writes = nil
			d, err := f.host.Plan(f.target("/box/c1"), w)
			if err != nil || !d.Empty() || d.Held == 0 {
				t.Errorf("planned again: %+v, %v", d, err)
			}
			if n := f.hold("/box/c1", w); n != 0 || len(f.writes) != 0 {
				t.Errorf("held again: %d writes, %q", n, f.writes)
			}
			f.hold("/box/c1", Want{Change: limit.Clear()})
			if diff := cmp.Diff(before, f.everything()); diff != "" {
				t.Errorf("cleared: %s", diff)
			}
		})
	}
}

func withLatency(l limit.Limits) limit.Limits { l.Latency = 5 * time.Millisecond; return l }

// TestWrites: exactly this is written, and keys and devices that nobody named are kept.
func TestWrites(t *testing.T) {
	set := func(l limit.Limits) limit.Change { return limit.Change{Set: l} }
	for _, tt := range []struct {
		name    string
		version int
		files   map[string]string
		want    Want
		writes  []string
	}{
		{"one rate of two, version 2", 2, map[string]string{"cg/c/io.max": "8:16 rbps=max wbps=7 riops=max wiops=max\n254:0 rbps=5 wbps=6 riops=max wiops=9\n"},
			Want{Change: set(limit.Limits{ReadBPS: 50, WriteBPS: 6}), Devices: []device.Number{vda}}, []string{"cg/c/io.max 254:0 rbps=50"}},
		{"set and removed in one write", 2, map[string]string{"cg/c/io.max": "254:0 rbps=5 wbps=6 riops=7 wiops=9\n"},
			Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 50}, Remove: []limit.Key{limit.WriteBPS, limit.WriteIOPS}}, Devices: []device.Number{vda}},
			[]string{"cg/c/io.max 254:0 rbps=50 wbps=max wiops=max"}},
		{"removed on all devices", 2, map[string]string{"cg/c/io.max": "8:16 rbps=max wbps=7 riops=max wiops=max\n254:0 rbps=5 wbps=6 riops=max wiops=9\n"},
			Want{Change: limit.Clear(limit.WriteBPS)}, []string{"cg/c/io.max 8:16 wbps=max", "cg/c/io.max 254:0 wbps=max"}},
		{"removed where nothing is", 2, nil, Want{Change: limit.Clear(), Devices: []device.Number{vda}}, nil},
		{"one rate, version 1", 1, map[string]string{"cg/blkio/c/blkio.throttle.read_bps_device": "8:16 5\n(unknown) 6\n254:0 9\n"},
			Want{Change: set(limit.Limits{ReadBPS: 50}), Devices: []device.Number{vda}}, []string{"cg/blkio/c/blkio.throttle.read_bps_device 254:0 50"}},
		{"removed, version 1", 1, map[string]string{"cg/blkio/c/blkio.throttle.read_bps_device": "8:16 5\n254:0 9\n", "cg/blkio/c/blkio.throttle.write_iops_device": "254:0 9\n"},
			Want{Change: limit.Clear()}, []string{"cg/blkio/c/blkio.throttle.read_bps_device 8:16 0", "cg/blkio/c/blkio.throttle.read_bps_device 254:0 0", "cg/blkio/c/blkio.throttle.write_iops_device 254:0 0"}},
		{"2^32 IOPS of somebody else, which are 0", 1, map[string]string{"cg/blkio/c/blkio.throttle.read_iops_device": "254:0 0\n"},
			Want{Change: limit.Clear(limit.ReadIOPS)}, []string{"cg/blkio/c/blkio.throttle.read_iops_device 254:0 0"}},
		{"on a device that is gone, removed", 1, map[string]string{"cg/blkio/c/blkio.throttle.read_bps_device": "254:0 9\n"},
			Want{Change: limit.Clear(), Devices: []device.Number{nodev}}, nil},
		{"on a device that sysfs doesn't show, removed", 1, map[string]string{"cg/blkio/c/blkio.throttle.read_bps_device": "9:9 9\n"},
			Want{Change: limit.Clear(), Devices: []device.Number{nodev}}, []string{"cg/blkio/c/blkio.throttle.read_bps_device 9:9 0"}},
		{"on a device that sysfs doesn't show, removed, version 2", 2, map[string]string{"cg/c/io.max": "9:9 rbps=9 wbps=max riops=max wiops=max\n", "cg/c/io.latency": "9:9 target=5\n"},
			Want{Change: limit.Clear(), Devices: []device.Number{nodev}}, []string{"cg/c/io.max 9:9 rbps=max", "cg/c/io.latency 9:9 target=max"}},
		{"latency", 2, map[string]string{"cg/c/io.latency": "254:0 target=100\n8:16 target=7\n"},
			Want{Change: set(limit.Limits{Latency: 5 * time.Millisecond}), Devices: []device.Number{vda}}, []string{"cg/c/io.latency 254:0 target=5000"}},
		{"latency removed", 2, map[string]string{"cg/c/io.latency": "254:0 target=100\n8:16 target=7\n"},
			Want{Change: limit.Clear(limit.Latency)}, []string{"cg/c/io.latency 254:0 target=max", "cg/c/io.latency 8:16 target=max"}},

		{"weight, version 2", 2, nil, Want{Change: set(limit.Limits{Weight: 5000})}, []string{"cg/c/io.bfq.weight 1000", "cg/c/io.weight 5000"}},
		{"weight of bfq alone drifted", 2, map[string]string{"cg/c/io.weight": "default 300\n8:16 7\n"}, Want{Change: set(limit.Limits{Weight: 300})}, []string{"cg/c/io.bfq.weight 300"}},
		{"weight of one device goes to what acts", 2, nil, Want{Change: set(limit.Limits{Weight: 300}), WeightDevices: []device.Number{sdb}}, []string{"cg/c/io.bfq.weight 8:16 300"}},
		{"weight of one device removed", 2, map[string]string{"cg/c/io.bfq.weight": "default 7\n8:16 300\n"}, Want{Change: limit.Clear(limit.Weight), WeightDevices: []device.Number{sdb}}, []string{"cg/c/io.bfq.weight 8:16 default"}},
		{"bfq resets the devices' weights", 2, map[string]string{"cg/c/io.bfq.weight": "default 100\n8:16 300\n", "cg/c/io.weight": "default 200\n254:0 5\n"},
			Want{Change: set(limit.Limits{Weight: 200})}, []string{"cg/c/io.bfq.weight 200", "cg/c/io.bfq.weight 8:16 300"}},
		{"all weights removed", 2, map[string]string{"cg/c/io.bfq.weight": "default 200\n8:16 300\n", "cg/c/io.weight": "default 200\n"},
			Want{Change: limit.Clear(limit.Weight)}, []string{"cg/c/io.bfq.weight 100", "cg/c/io.weight 100"}},
		{"devices' weights removed", 2, map[string]string{"cg/c/io.bfq.weight": "default 100\n8:16 300\n"},
			Want{Change: limit.Clear(limit.Weight)}, []string{"cg/c/io.bfq.weight 8:16 default"}},
		{"weight, version 1", 1, nil, Want{Change: set(limit.Limits{Weight: 300})}, []string{"cg/blkio/c/blkio.bfq.weight_device 300"}},
		{"weight of one device, version 1", 1, nil, Want{Change: set(limit.Limits{Weight: 300}), WeightDevices: []device.Number{sdb}}, []string{"cg/blkio/c/blkio.bfq.weight_device 8:16 300"}},

		{"cpus, version 2", 2, nil, Want{Change: set(limit.Limits{CPUs: 0.5})}, []string{"cg/c/cpu.max 50000 100000"}},
		{"cpus, the period is kept", 2, map[string]string{"cg/c/cpu.max": "max 50000\n"}, Want{Change: set(limit.Limits{CPUs: 0.5})}, []string{"cg/c/cpu.max 25000 50000"}},
		{"cpus, but not a period that is too short", 2, map[string]string{"cg/c/cpu.max": "max 10000\n"}, Want{Change: set(limit.Limits{CPUs: 0.05})}, []string{"cg/c/cpu.max 5000 100000"}},
		{"cpus are rounded, not cut off", 2, nil, Want{Change: set(limit.Limits{CPUs: 0.29})}, []string{"cg/c/cpu.max 29000 100000"}},
		{"cpus removed", 2, map[string]string{"cg/c/cpu.max": "7000 50000\n"}, Want{Change: limit.Clear(limit.CPUs)}, []string{"cg/c/cpu.max max 50000"}},
		{"cpus, version 1", 1, nil, Want{Change: set(limit.Limits{CPUs: 2})}, []string{"cg/cpu/c/cpu.cfs_quota_us 200000"}},
		{"cpus, version 1, too short a period", 1, map[string]string{"cg/cpu/c/cpu.cfs_period_us": "5000\n"}, Want{Change: set(limit.Limits{CPUs: 0.05})},
			[]string{"cg/cpu/c/cpu.cfs_period_us 100000", "cg/cpu/c/cpu.cfs_quota_us 5000"}},
		{"shares, version 1", 1, nil, Want{Change: set(limit.Limits{CPUShares: 2048})}, []string{"cg/cpu/c/cpu.shares 2048"}},
		{"shares, version 2", 2, nil, Want{Change: set(limit.Limits{CPUShares: 2048})}, []string{"cg/c/cpu.weight 200"}},
		{"shares removed", 2, map[string]string{"cg/c/cpu.weight": "39\n"}, Want{Change: limit.Clear(limit.CPUShares)}, []string{"cg/c/cpu.weight 100"}},

		{"memory, version 2", 2, nil, Want{Change: set(limit.Limits{Memory: 64 << 20})}, []string{"cg/c/memory.max 67108864", "cg/c/memory.swap.max 0"}},
		{"memory in parts of a page", 2, map[string]string{"cg/c/memory.max": "67108864\n", "cg/c/memory.swap.max": "0\n"}, Want{Change: set(limit.Limits{Memory: 64<<20 + 1})}, nil},
		{"memory removed", 2, map[string]string{"cg/c/memory.max": "67108864\n", "cg/c/memory.swap.max": "0\n"}, Want{Change: limit.Clear(limit.Memory)}, []string{"cg/c/memory.max max", "cg/c/memory.swap.max max"}},
		{"memory first set, version 1", 1, nil, Want{Change: set(limit.Limits{Memory: 64 << 20})},
			[]string{"cg/memory/c/memory.limit_in_bytes 67108864", "cg/memory/c/memory.memsw.limit_in_bytes 67108864"}},
		{"memory raised, version 1", 1, map[string]string{"cg/memory/c/memory.limit_in_bytes": "8388608\n", "cg/memory/c/memory.memsw.limit_in_bytes": "8388608\n"}, Want{Change: set(limit.Limits{Memory: 64 << 20})},
			[]string{"cg/memory/c/memory.memsw.limit_in_bytes 67108864", "cg/memory/c/memory.limit_in_bytes 67108864"}},
		{"memory raised below the sum, version 1", 1, map[string]string{"cg/memory/c/memory.limit_in_bytes": "8388608\n", "cg/memory/c/memory.memsw.limit_in_bytes": "268435456\n"}, Want{Change: set(limit.Limits{Memory: 64 << 20})},
			[]string{"cg/memory/c/memory.limit_in_bytes 67108864", "cg/memory/c/memory.memsw.limit_in_bytes 67108864"}},
		{"memory removed, version 1", 1, map[string]string{"cg/memory/c/memory.limit_in_bytes": "8388608\n", "cg/memory/c/memory.memsw.limit_in_bytes": "8388608\n"}, Want{Change: limit.Clear(limit.Memory)},
			[]string{"cg/memory/c/memory.memsw.limit_in_bytes -1", "cg/memory/c/memory.limit_in_bytes -1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.version, "/c")
			f.iocost[vda.String()], f.hidden = true, nodev
			for name, content := range tt.files {
				f.put(name, content)
			}
			if n := f.hold("/c", tt.want); n != len(tt.writes) {
				t.Errorf("%d writes, want %d", n, len(tt.writes))
			}
			if diff := cmp.Diff(tt.writes, f.writes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestClamp: no number becomes 2^32, which version 1 makes a 0, nor one less, which it takes for none.
func TestClamp(t *testing.T) {
	for v, want := range map[int64]uint64{-1: 0, 0: 0, 1: 1, limit.MaxIOPS: 4294967294, limit.MaxIOPS + 1: 4294967294, limit.MaxIOPS + 2: 4294967294, 1<<63 - 1: 4294967294} {
		for _, k := range []limit.Key{limit.ReadIOPS, limit.WriteIOPS} {
			if got := clampRate(k, v); got != want {
				t.Errorf("clampRate(%s, %d) = %d, want %d", k, v, got, want)
			}
		}
	}
	if got := clampRate(limit.ReadBPS, 1<<40); got != 1<<40 {
		t.Errorf("clampRate(read_bps, 2^40) = %d", got)
	}
}

// TestOldKernels have other files: CFQ's weights, bfq's for all devices alone, no count of swap.
func TestOldKernels(t *testing.T) {
	f := newFake(t, 1, "/c")
	for _, file := range []string{"cg/blkio/c/blkio.bfq.weight_device", "cg/memory/c/memory.memsw.limit_in_bytes"} {
		if err := os.Remove(filepath.Join(f.root, file)); err != nil {
			t.Fatal(err)
		}
	}
	f.put("cg/blkio/c/blkio.weight", "500\n")
	f.put("cg/blkio/c/blkio.weight_device", "254:0 250\n")
	if s := f.state("/c"); s.Devices[vda].Weight != 50 {
		t.Errorf("state is %+v", s)
	}
	f.hold("/c", Want{Change: limit.Change{Set: limit.Limits{Weight: 200, Memory: 64 << 20}}})
	want := []string{"cg/blkio/c/blkio.bfq.weight 200", "cg/blkio/c/blkio.weight 1000", "cg/memory/c/memory.limit_in_bytes 67108864"}
	if diff := cmp.Diff(want, f.writes); diff != "" {
		t.Error(diff)
	}
	if s := f.state("/c"); s.Limits.Weight != 200 || s.Limits.Memory != 64<<20 {
		t.Errorf("state is %+v", s)
	}
	f.writes = nil
	f.hold("/c", Want{Change: limit.Clear(limit.Weight)})
	want = []string{"cg/blkio/c/blkio.bfq.weight 100", "cg/blkio/c/blkio.weight_device 254:0 default", "cg/blkio/c/blkio.weight 500"}
	if diff := cmp.Diff(want, f.writes); diff != "" {
		t.Error(diff)
	}
}

// TestNotes: what is held otherwise than asked is said.
func TestNotes(t *testing.T) {
	for _, tt := range []struct {
		version int
		groups  []string
		set     limit.Limits
		words   []string
	}{
		{2, nil, limit.Limits{Weight: 5000}, []string{"5000 is 1000 in io.bfq.weight", "bfq schedules"}},
		{2, nil, limit.Limits{CPUShares: 2}, []string{"2 CPU shares are a cpu.weight of 1, the nearest that there is: 10 shares"}},
		{1, []string{"/c/a", "/c/b"}, limit.Limits{ReadBPS: 100}, []string{"version 1 limits each group by itself: the 3 groups"}},
		{1, nil, limit.Limits{ReadBPS: 100, CPUShares: 2}, nil},
		{2, []string{"/c/a"}, limit.Limits{ReadBPS: 100, CPUShares: 1024}, nil},
	} {
		f := newFake(t, tt.version, append(tt.groups, "/c")...)
		d, err := f.host.Plan(f.target("/c"), Want{Change: limit.Change{Set: tt.set}, Devices: []device.Number{vda}})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Notes) != len(tt.words) {
			t.Errorf("%s: notes are %q", tt.set, d.Notes)
		}
		texttest.Has(t, strings.Join(d.Notes, "\n"), tt.words, tt.set)
	}
}

// TestFlat: in version 1 every group below gets the rates, also those made meanwhile, and the rest is for
// the container's own alone; in version 2 all is.
func TestFlat(t *testing.T) {
	want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100, CPUs: 1, Weight: 200}}, Devices: []device.Number{vda}}
	f := newFake(t, 1, "/c/a/deep", "/c/b", "/d")
	made := false
	f.before = func(file, _ string) error {
		if !made && strings.HasSuffix(file, "/c/b/blkio.throttle.write_bps_device") {
			made = true
			f.group("/c/b/late")
			f.remove("/c/a/deep")
		}
		return nil
	}
	f.hold("/c", want)
	slices.Sort(f.writes)
	if diff := cmp.Diff([]string{
		"cg/blkio/c/a/blkio.throttle.write_bps_device 254:0 100", "cg/blkio/c/b/blkio.throttle.write_bps_device 254:0 100", "cg/blkio/c/b/late/blkio.throttle.write_bps_device 254:0 100",
		"cg/blkio/c/blkio.bfq.weight_device 200", "cg/blkio/c/blkio.throttle.write_bps_device 254:0 100", "cg/cpu/c/cpu.cfs_quota_us 100000",
	}, f.writes); diff != "" {
		t.Error(diff)
	}
	states, err := f.host.Read(f.target("/c"))
	if err != nil || len(states) != 4 {
		t.Fatalf("Read = %+v, %v", states, err)
	}
	for i, s := range states {
		if s.Devices[vda].WriteBPS != 100 || (s.Limits.CPUs == 1) != (i == 0) {
			t.Errorf("state %d is %+v", i, s)
		}
	}
	f = newFake(t, 2, "/c/a", "/d")
	f.hold("/c", want)
	for _, w := range f.writes {
		if !strings.HasPrefix(w, "cg/c/") || strings.Contains(w, "/a/") {
			t.Errorf("write to %s", w)
		}
	}
	if states, err := f.host.Read(f.target("/c")); err != nil || len(states) != 1 {
		t.Errorf("Read = %+v, %v", states, err)
	}
}

// TestDeviceWide: the root of version 1 is limited by itself, and that of version 2 not at all.
func TestDeviceWide(t *testing.T) {
	f := newFake(t, 1, "/c")
	target, err := f.host.Device()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.host.Hold(target, Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100}}, Devices: []device.Number{sdb}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cg/blkio/blkio.throttle.write_bps_device 8:16 100"}, f.writes); diff != "" {
		t.Error(diff)
	}
	if _, err := newFake(t, 2).host.Device(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "version 2 has none for the root group") {
		t.Errorf("version 2: %v", err)
	}
}
