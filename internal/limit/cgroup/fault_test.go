package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestFaults: each refusal names the file or device, says why in words, and what would mend it; nothing
// is changed.
func TestFaults(t *testing.T) {
	set := func(l limit.Limits, devices ...device.Number) Want {
		return Want{Change: limit.Change{Set: l}, Devices: devices, WeightDevices: devices}
	}
	rate := limit.Limits{WriteBPS: 100}
	for _, tt := range []struct {
		name    string
		version int
		// prepare makes it so; without files of its own that a test could lack.
		prepare func(f *fake)
		// refuse is the kernel's answer to the first write.
		refuse error
		want   Want
		is     error
		words  []string
	}{
		{"no device", 2, nil, nil, set(rate), nil, []string{"write_bps: the limit names no device", "name a path, volume or device"}},
		{"bad value", 2, nil, nil, set(limit.Limits{WriteBPS: 1}, vda), nil, []string{"write_bps: 1 is too little", "refuses 0 and 1"}},
		{"device gone", 2, nil, nil, set(rate, nodev), nil, []string{"write_bps on 9:9: there is no block device 9:9", "name the one that the data is on now"}},
		{"device gone, version 1", 1, nil, nil, set(rate, nodev), nil, []string{"write_bps on 9:9: there is no block device 9:9"}},
		{"partition", 2, nil, nil, set(rate, vda1), nil, []string{"vda1 is a partition", "whole disks", "give 254:0 (vda)"}},
		{"partition, latency", 2, nil, nil, set(limit.Limits{Latency: time.Millisecond}, vda1), nil, []string{"latency on 254:1", "give 254:0 (vda)"}},
		{"partition, weight", 1, nil, nil, set(limit.Limits{Weight: 200}, vda1), nil, []string{"weight on 254:1", "give 254:0 (vda)"}},
		{"device goes meanwhile", 1, nil, syscall.ENODEV, set(rate, vda), syscall.ENODEV, []string{`writing "254:0 100" to ROOT/cg/blkio/c/blkio.throttle.write_bps_device`, "knows no such device"}},
		{"not permitted", 2, nil, syscall.EACCES, set(rate, vda), syscall.EACCES, []string{`writing "254:0 wbps=100" to ROOT/cg/c/io.max: not permitted`, "run as root"}},
		{"read-only", 2, nil, syscall.EROFS, set(rate, vda), syscall.EROFS, []string{"mounted read-only", "run this on the host"}},
		{"out of range", 2, nil, syscall.ERANGE, set(rate, vda), syscall.ERANGE, []string{"out of its range"}},
		{"not taken", 2, nil, syscall.EINVAL, set(rate, vda), syscall.EINVAL, []string{"does not take this value"}},
		{"something else", 2, nil, syscall.ENOMEM, set(rate, vda), syscall.ENOMEM, []string{"cannot allocate memory"}},
		{"not given", 2, func(f *fake) {
			f.drop("cg/c/io.max", "cg/c/io.weight", "cg/c/io.bfq.weight", "cg/c/io.latency")
			f.put("cg/c/cgroup.controllers", "cpu memory\n")
			f.put("cg/cgroup.subtree_control", "cpu memory\n")
		}, nil, set(rate, vda), ErrNoController, []string{"the io controller is not given to this group: ROOT/cg/cgroup.subtree_control does not list it", "echo +io > ROOT/cg/cgroup.subtree_control"}},
		{"unit not given", 2, func(f *fake) {
			f.group("/system.slice/c.service/d")
			f.drop("cg/system.slice/c.service/d/io.max")
			f.put("cg/system.slice/c.service/d/cgroup.controllers", "cpu memory\n")
			f.put("cg/system.slice/cgroup.subtree_control", "cpu memory\n")
			f.put("cg/system.slice/c.service/cgroup.subtree_control", "cpu memory\n")
		}, nil, set(rate, vda), ErrNoController, []string{"echo +io > ROOT/cg/system.slice/cgroup.subtree_control; where systemd runs, instead: systemctl set-property c.service IOAccounting=yes"}},
		{"unit not given from the top", 2, func(f *fake) {
			f.group("/system.slice/c.service/d.scope")
			f.drop("cg/system.slice/c.service/d.scope/io.max")
			for _, g := range []string{"system.slice/c.service/d.scope/cgroup.controllers", "system.slice/cgroup.subtree_control", "system.slice/c.service/cgroup.subtree_control", "cgroup.subtree_control"} {
				f.put("cg/"+g, "cpu memory\n")
			}
		}, nil, set(rate, vda), ErrNoController, []string{"echo +io > ROOT/cg/cgroup.subtree_control; where systemd runs, instead: systemctl set-property c.service IOAccounting=yes"}},
		{"weight not given, of a disk that is divided", 2, func(f *fake) {
			f.drop("cg/c/io.max", "cg/c/io.weight", "cg/c/io.bfq.weight", "cg/c/io.latency")
			f.put("cg/c/cgroup.controllers", "cpu memory\n")
			f.put("cg/cgroup.subtree_control", "cpu memory\n")
		}, nil, set(limit.Limits{Weight: 200}, sdb), ErrNoController, []string{"weight: ROOT/cg/c/io.bfq.weight: the io controller is not given"}},
		{"not delegated", 2, func(f *fake) {
			f.group("/user@1.service/d")
			f.drop("cg/user@1.service/d/io.max")
			f.put("cg/user@1.service/d/cgroup.controllers", "cpu memory\n")
			f.put("cg/user@1.service/cgroup.subtree_control", "cpu memory\n")
		}, nil, set(rate, vda), ErrNoController, []string{"systemctl edit user@1.service, with Delegate=io"}},
		{"weight not given", 2, func(f *fake) {
			f.drop("cg/c/io.max", "cg/c/io.weight", "cg/c/io.bfq.weight", "cg/c/io.latency")
			f.put("cg/c/cgroup.controllers", "cpu memory\n")
			f.put("cg/cgroup.subtree_control", "cpu memory\n")
		}, nil, set(limit.Limits{Weight: 200}), ErrNoController, []string{"weight: ROOT/cg/c/io.bfq.weight: the io controller is not given"}},
		{"no latency in this kernel", 2, func(f *fake) { f.drop("cg/c/io.latency") }, nil, set(limit.Limits{Latency: time.Millisecond}, vda), ErrUnsupported, []string{"the group has the io controller, but this kernel has no io.latency"}},
		{"no latency in version 1", 1, nil, nil, set(limit.Limits{Latency: time.Millisecond}, vda), ErrUnsupported, []string{"version 1 of cgroups has no latency targets", "unified"}},
		{"no throttling in this kernel", 1, func(f *fake) { f.drop("cg/blkio/c/blkio.throttle.write_bps_device") }, nil, set(rate, vda), ErrUnsupported, []string{"blkio.throttle.write_bps_device: this kernel has no such file"}},
		{"no weights in this kernel", 1, func(f *fake) { f.drop("cg/blkio/c/blkio.bfq.weight", "cg/blkio/c/blkio.bfq.weight_device") }, nil, set(limit.Limits{Weight: 200}), ErrUnsupported, []string{"no weights for groups", "modprobe bfq"}},
		{"weight without effect", 1, nil, nil, set(limit.Limits{Weight: 200}, vda), ErrUnsupported, []string{"weight on 254:0: vda is scheduled by none", "echo bfq > /sys/block/vda/queue/scheduler"}},
		{"weight on top of a stack", 2, nil, nil, set(limit.Limits{Weight: 200}, dm0), ErrUnsupported, []string{"dm-0 has no scheduler of its own", "give the weight to what it stands on: sdb"}},
		{"weight loses its scheduler meanwhile", 2, nil, syscall.EOPNOTSUPP, set(limit.Limits{Weight: 200}, sdb), syscall.EOPNOTSUPP, []string{"the kernel can't do this on this device, although sdb is scheduled by bfq"}},
		{"more CPUs than above", 1, func(f *fake) {
			f.group("/c/d")
			f.put("cg/cpu/cpu.cfs_quota_us", "100000\n")
		}, nil, set(limit.Limits{CPUs: 2}), syscall.EINVAL, []string{"the group above, /, has 1.00 CPUs", "ask for 1.00 at most"}},
		{"fewer CPUs than below", 1, func(f *fake) {
			f.group("/c/d")
			f.put("cg/cpu/c/d/cpu.cfs_quota_us", "300000\n")
		}, nil, set(limit.Limits{CPUs: 2}), syscall.EINVAL, []string{"the group below, /c/d, has 3.00 CPUs", "lower that one first"}},
		{"memory in use, version 1", 1, nil, syscall.EBUSY, set(limit.Limits{Memory: 64 << 20}), syscall.EBUSY, []string{"uses more memory than that", "free some first"}},
		{"memory in use, version 2", 2, func(f *fake) {
			f.put("cg/c/memory.current", "100000000\n")
			f.put("cg/c/memory.stat", "anon 9\nactive_file 1000000\ninactive_file 1000000\nslab_reclaimable 1000000\n")
		}, nil, set(limit.Limits{Memory: 64 << 20}), nil, []string{"memory: ROOT/cg/c: the group uses 92.5 MiB that can't be dropped, so the kernel would kill", "under 64 MiB"}},
		{"file that is not a limit", 2, func(f *fake) { f.put("cg/c/io.max", "254:0 rbps=lots\n") }, nil, set(rate, vda), nil, []string{`ROOT/cg/c/io.max: can't read "rbps=lots" as a limit`}},
		{"quota that is none", 1, func(f *fake) { f.put("cg/cpu/c/cpu.cfs_quota_us", "much\n") }, nil, set(limit.Limits{CPUs: 1}), nil, []string{"is not a quota and period"}},
		{"memory that is none", 1, func(f *fake) { f.put("cg/memory/c/memory.limit_in_bytes", "much\n") }, nil, set(limit.Limits{Memory: 64 << 20}), nil, []string{"is not a number of bytes"}},
		{"group gone", 1, func(f *fake) { f.remove("/c") }, nil, set(rate, vda), ErrGone, []string{"the group is gone: its processes have ended"}},
		{"group gone, version 2", 2, func(f *fake) { f.remove("/c") }, nil, set(rate, vda), ErrGone, []string{"/c: the group is gone"}},
		{"group gone, weight", 2, func(f *fake) { f.remove("/c") }, nil, set(limit.Limits{Weight: 100}), ErrGone, []string{"/c: the group is gone"}},
		{"group gone, cleared", 2, func(f *fake) { f.remove("/c") }, nil, Want{Change: limit.Clear()}, ErrGone, []string{"/c: the group is gone"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.version, "/c")
			target := f.target("/c")
			if tt.prepare != nil {
				tt.prepare(f)
			}
			for _, deeper := range []string{"/system.slice/c.service/d", "/system.slice/c.service/d.scope", "/user@1.service/d"} {
				if f.has(f.dirs(deeper)[0], "cgroup.procs") {
					target = f.target(deeper)
				}
			}
			if tt.refuse != nil {
				f.before = func(string, string) error { return tt.refuse }
			}
			before := f.everything()
			_, err := f.host.Hold(target, tt.want)
			if err == nil || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Fatalf("Hold = %v, want %v", err, tt.is)
			}
			for _, w := range tt.words {
				if w = strings.ReplaceAll(w, "ROOT", f.root); !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
			if len(f.writes) > 0 || len(before) != len(f.everything()) {
				t.Errorf("written: %q", f.writes)
			}
		})
	}
}

// drop removes files.
func (f *fake) drop(names ...string) {
	f.t.Helper()
	for _, n := range names {
		if err := os.Remove(filepath.Join(f.root, n)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestDiesMeanwhile: a container that ends between two writes is said to have ended, and there is nothing
// to restore.
func TestDiesMeanwhile(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, answer := range []error{syscall.ENODEV, nil} {
			f := newFake(t, version, "/c")
			n := 0
			f.before = func(string, string) error {
				if n++; n == 2 {
					f.remove("/c")
					return answer
				}
				return nil
			}
			_, err := f.host.Hold(f.target("/c"), Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100, ReadBPS: 100, Weight: 200}}, Devices: []device.Number{vda}})
			var fault *Fault
			if !errors.Is(err, ErrGone) {
				t.Errorf("version %d: %v", version, err)
			}
			if errors.As(err, &fault) && (len(fault.Left) > 0 || fault.Undone) {
				t.Errorf("version %d: undone %v, left %q; want that nothing is said of them", version, fault.Undone, fault.Left)
			}
		}
	}
	f := newFake(t, 2, "/c")
	target := f.target("/c")
	f.remove("/c")
	if _, err := f.host.Read(target); !errors.Is(err, ErrGone) {
		t.Errorf("Read = %v", err)
	}
}

// TestNoControllers: what no hierarchy has can't be set, and has nothing to clear.
func TestNoControllers(t *testing.T) {
	f := newFake(t, 3, "/c")
	f.put("cg/unified/cgroup.controllers", "memory\n")
	target := f.target("/c")
	if _, err := f.host.Plan(target, Want{Change: limit.Change{Set: limit.Limits{CPUs: 1}}}); err == nil || !strings.Contains(err.Error(), "no cpu controller is mounted") {
		t.Errorf("Plan = %v", err)
	}
	if n, err := f.host.Hold(target, Want{Change: limit.Clear()}); n != 0 || err != nil {
		t.Errorf("Hold = %d, %v", n, err)
	}
	if s, err := f.host.Read(target); err != nil || !s[0].Limits.IsZero() {
		t.Errorf("Read = %+v, %v", s, err)
	}
	if _, err := Open(f.host.fs); err != nil {
		t.Error(err)
	}
	if _, err := f.host.At("/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("At = %v", err)
	}
}
