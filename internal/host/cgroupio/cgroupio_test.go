package cgroupio

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/treetest"
)

// host makes a procfs and cgroup folders in a temporary one. ROOT in a file's content is replaced by that folder.
func host(t *testing.T, files map[string]string) device.FS {
	t.Helper()
	root := treetest.Make(t, files)
	return device.FS{Proc: filepath.Join(root, "proc")}
}

// hybrid has blkio and cpu in version 1 and a version 2 hierarchy without them.
func hybrid() map[string]string {
	return map[string]string{
		"proc/self/mountinfo": treetest.HybridMounts,
		"proc/self/cgroup":    "3:blkio:/me\n2:cpu,cpuacct:/me\n0::/\n",
		"proc/10/cgroup":      "3:blkio:/box/c1\n2:cpu,cpuacct:/box/c1\n0::/box/c1\n",
		"proc/11/cgroup":      "3:blkio:/\n2:cpu,cpuacct:/\n0::/\n",
		"proc/12/cgroup":      "3:blkio:/me\n2:cpu,cpuacct:/me\n0::/\n",
		"proc/13/cgroup":      "3:blkio:/idle\n0::/idle\n",
		"proc/14/cgroup":      "3:blkio:/../other\n",
		"proc/15/cgroup":      "3:blkio:/bad\n2:cpu,cpuacct:/bad\n",
		"proc/16/cgroup":      "5:pids:/x\n",

		"cg/unified/cgroup.controllers": "hugetlb\n",
		"cg/blkio/" + serviceBytes:      "254:0 Read 900\n254:0 Write 900\nTotal 1800\n",
		"cg/blkio/box/c1/" + serviceBytes: "7:0 Read 1\n7:0 Write 2\n254:0 Read 100\n254:0 Write 200\n254:0 Sync 300\n" +
			"254:0 Async 0\n254:0 Discard 7\n254:0 Total 300\nTotal 303\n",
		"cg/blkio/idle/" + serviceBytes: "Total 0\n",
		"cg/blkio/bad/" + serviceBytes:  "254:0 Read lots\n",
		"cg/cpu/box/c1/cpu.stat":        "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000\n",
		"cg/cpu/bad/cpu.stat":           "nr_throttled many\n",
		"cg/cpu/me/cpu.stat":            "nr_periods 0\n",
	}
}

func TestReadCgroupIOHybrid(t *testing.T) {
	fs := host(t, hybrid())
	vda, sdz := &device.Device{Number: device.Number{Major: 254}}, &device.Device{Number: device.Number{Major: 65}}
	for _, tt := range []struct {
		name          string
		pid           int
		dev           *device.Device
		read, written int64
		version       int
		err           error
	}{
		{"root group", 11, vda, -1, -1, 1, ErrShared},
		{"our own group", 12, vda, -1, -1, 1, ErrShared},
		{"disk that is not counted", 10, sdz, -1, -1, 1, ErrNotCounted},
		{"no device", 10, nil, -1, -1, 1, ErrNotCounted},
		{"no controller", 16, vda, -1, -1, 0, ErrNotCounted},
		{"no process", 99, vda, -1, -1, 0, os.ErrNotExist},
		{"its own group", 10, vda, 100, 200, 1, nil},
		{"counted, nothing done", 13, vda, 0, 0, 1, nil},
	} {
		read, written, version, err := ReadCgroupIO(fs, tt.pid, tt.dev)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
		if read != tt.read || written != tt.written {
			t.Errorf("%s: %d read, %d written, want %d, %d", tt.name, read, written, tt.read, tt.written)
		}
		if version != tt.version {
			t.Errorf("%s: version %d, want %d", tt.name, version, tt.version)
		}
	}
	for _, pid := range []int{14, 15} {
		if _, _, _, err := ReadCgroupIO(fs, pid, vda); err == nil {
			t.Errorf("process %d: no error", pid)
		}
	}
}

func TestReadCgroupIOUnified(t *testing.T) {
	fs := host(t, map[string]string{
		// A container without a cgroup namespace: the mount shows /box of the tree.
		"proc/self/mountinfo": `1 0 8:1 / / rw - ext4 /dev/a rw
4 1 0:32 /box ROOT/cg rw - cgroup2 cgroup2 rw
`,
		"proc/self/cgroup":      "0::/box/me\n",
		"proc/10/cgroup":        "0::/box/c1\n",
		"proc/11/cgroup":        "0::/box/c2\n",
		"proc/12/cgroup":        "0::/boxer\n",
		"cg/cgroup.controllers": "cpu io memory\n",
		"cg/c1/io.stat":         "7:0 rbytes=5 wbytes=6\n254:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=0 dios=0 cost.usage=9\n",
		"cg/c1/cpu.stat":        "usage_usec 5\nnr_periods 3\nnr_throttled 2\nthrottled_usec 1500\n",
		"cg/c2/cpu.stat":        "usage_usec 5\n",
	})
	c1 := []CPUGroup{{Path: "/box/c1", Throttled: Throttled{Periods: 2, Time: 1500 * time.Microsecond}}}
	for _, tt := range []struct {
		pid           int
		major         uint32
		read, written int64
		version       int
		err           error
		throttled     []CPUGroup
		throttleErr   bool
	}{
		{pid: 10, major: 254, read: 100, written: 200, version: 2, throttled: c1},
		{pid: 10, major: 8, read: 0, written: 0, version: 2, throttled: c1},
		{pid: 11, major: 254, read: -1, written: -1, version: 2, err: ErrNotCounted},
		{pid: 12, major: 254, read: -1, written: -1, version: 0, err: ErrNotCounted, throttleErr: true},
	} {
		read, written, version, err := ReadCgroupIO(fs, tt.pid, &device.Device{Number: device.Number{Major: tt.major}})
		if !errors.Is(err, tt.err) {
			t.Errorf("process %d: %v, want %v", tt.pid, err, tt.err)
		}
		if read != tt.read || written != tt.written {
			t.Errorf("process %d: %d read, %d written, want %d, %d", tt.pid, read, written, tt.read, tt.written)
		}
		if version != tt.version {
			t.Errorf("process %d: version %d, want %d", tt.pid, version, tt.version)
		}
		throttled, err := ReadThrottles(fs, tt.pid)
		if diff := cmp.Diff(tt.throttled, throttled); diff != "" || (err != nil) != tt.throttleErr {
			t.Errorf("ReadThrottles(%d) = %v, %v", tt.pid, throttled, err)
		}
	}
}

func TestReadThrottlesHybrid(t *testing.T) {
	fs := host(t, hybrid())
	for _, bad := range []int{11, 12, 13, 15, 99} {
		if got, err := ReadThrottles(fs, bad); len(got) > 0 {
			t.Errorf("ReadThrottles(%d) = %v, %v, want none", bad, got, err)
		}
	}
	got, err := ReadThrottles(fs, 10)
	if err != nil || len(got) != 1 || got[0].Throttled != (Throttled{Periods: 4, Time: 2500 * time.Microsecond}) {
		t.Errorf("ReadThrottles(10) = %v, %v", got, err)
	}
}

// TestReadAround: in both versions the groups above a process count too: their quotas, CPUs, and memory limits that were reached.
func TestReadAround(t *testing.T) {
	v2 := host(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"proc/10/cgroup":      "0::/pod/box\n", "cg/cgroup.controllers": "cpu cpuset memory\n", "cg/cpuset.cpus.effective": "0-3\n",
		"cg/cpu.stat":    "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		"cg/pod/cpu.max": "20000 100000\n", "cg/pod/cpu.stat": "nr_throttled 7\nthrottled_usec 9\n", "cg/pod/cpuset.cpus.effective": "1,3\n",
		"cg/pod/memory.max": "max\n", "cg/pod/memory.high": "5000\n", "cg/pod/memory.events": "high 9\nmax 9\n", "cg/pod/memory.events.local": "low 1\nhigh 3\nmax 1\noom 0\n",
		"cg/pod/box/cpu.max": "max 100000\n", "cg/pod/box/cpu.stat": "nr_throttled 0\nthrottled_usec 0\n", "cg/pod/box/cpuset.cpus.effective": "1,3\n",
		"cg/pod/box/memory.max": "9000\n", "cg/pod/box/memory.high": "max\n", "cg/pod/box/memory.events": "high 0\nmax 2\n",
	})
	v1 := host(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup cgroup rw,cpu,cpuset,memory\n",
		"proc/10/cgroup":      "4:cpu,cpuset,memory:/pod/box\n", "cg/cpuset.effective_cpus": "0-3\n",
		"cg/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n", "cg/cpu.cfs_quota_us": "-1\n", "cg/cpu.cfs_period_us": "100000\n",
		"cg/pod/cpu.cfs_quota_us": "20000\n", "cg/pod/cpu.cfs_period_us": "100000\n", "cg/pod/cpu.stat": "nr_throttled 7\nthrottled_time 9000\n", "cg/pod/cpuset.effective_cpus": "1,3\n",
		"cg/memory.limit_in_bytes": "9223372036854771712\n", "cg/memory.failcnt": "0\n",
		"cg/pod/memory.limit_in_bytes": "5000\n", "cg/pod/memory.failcnt": "4\n",
		"cg/pod/box/cpu.cfs_quota_us": "-1\n", "cg/pod/box/cpu.cfs_period_us": "100000\n", "cg/pod/box/cpu.stat": "nr_throttled 0\nthrottled_time 0\n", "cg/pod/box/cpuset.effective_cpus": "1,3\n",
		"cg/pod/box/memory.limit_in_bytes": "9000\n", "cg/pod/box/memory.failcnt": "2\n",
	})
	wantCPU := []CPUGroup{{Path: "/pod/box"}, {Path: "/pod", CPUs: 0.2, Throttled: Throttled{Periods: 7, Time: 9 * time.Microsecond}}, {Path: "/"}}
	wantMemory := []MemoryReached{{"/pod/box", 9000, 2}, {"/pod", 5000, 4}}
	for name, fs := range map[string]device.FS{"version 1": v1, "version 2": v2} {
		cpu, err := ReadThrottles(fs, 10)
		if d := cmp.Diff(wantCPU, cpu); d != "" || err != nil {
			t.Errorf("%s: ReadThrottles: %v (-want +got):\n%s", name, err, d)
		}
		g, n, err := ReadCPUSet(fs, 10)
		if err != nil || n != 2 {
			t.Errorf("%s: ReadCPUSet = %d, %v, want 2", name, n, err)
		}
		if g == nil || g.Path != "/pod" {
			t.Errorf("%s: ReadCPUSet = %+v, want /pod", name, g)
		}
		m, err := ReadMemory(fs, 10)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := m.Reached()
		if name == "version 1" && len(got) == 3 {
			got = got[:2] // The root's, which has none.
		}
		if d := cmp.Diff(wantMemory, got); d != "" {
			t.Errorf("%s: Reached (-want +got):\n%s", name, d)
		}
		if n, err := ReadMemoryLimit(fs, 10); n != 5000 || err != nil {
			t.Errorf("%s: ReadMemoryLimit = %d, %v, want the least, 5000", name, n, err)
		}
	}
	for _, bad := range []string{"", "a", "3-1", "1,", "-1"} {
		if n, err := countList(bad); err == nil {
			t.Errorf("countList(%q) = %d, want an error", bad, n)
		}
	}
}

// TestReadMemoryLimit: the lowest limit on the way up is the one in effect.
func TestReadMemoryLimit(t *testing.T) {
	v2 := host(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"proc/10/cgroup":      "0::/unit/c1\n", "proc/11/cgroup": "0::/unit/c2\n", "proc/12/cgroup": "0::/free\n", "proc/13/cgroup": "0::/\n",
		"cg/cgroup.controllers": "cpu io memory\n",
		"cg/unit/memory.max":    "1000000\n", "cg/unit/c1/memory.max": "max\n", "cg/unit/c2/memory.max": "5000\n", "cg/free/memory.max": "max\n",
	})
	v1 := host(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup cgroup rw,memory\n",
		"proc/10/cgroup":      "4:memory:/unit/c1\n", "proc/12/cgroup": "4:memory:/\n",
		"cg/memory.limit_in_bytes": "9223372036854771712\n", "cg/unit/memory.limit_in_bytes": "1000000\n", "cg/unit/c1/memory.limit_in_bytes": "9223372036854771712\n",
	})
	for _, tt := range []struct {
		name   string
		fs     device.FS
		pid    int
		want   int64
		holder string
	}{
		{"the unit's", v2, 10, 1000000, "/unit"}, {"its own", v2, 11, 5000, "/unit/c2"}, {"none", v2, 12, 0, ""}, {"the root", v2, 13, 0, ""},
		{"version 1, the unit's", v1, 10, 1000000, "/unit"}, {"version 1, none", v1, 12, 0, ""},
	} {
		if got, err := ReadMemoryLimit(tt.fs, tt.pid); got != tt.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
		if m, err := ReadMemory(tt.fs, tt.pid); err != nil || m.Limit != tt.want || m.Holder != tt.holder {
			t.Errorf("%s: %+v, %v, want %d of %q", tt.name, m, err, tt.want, tt.holder)
		}
	}
	if _, err := ReadMemoryLimit(v2, 99); err == nil {
		t.Error("a process that isn't there: no error")
	}
}

// TestMemoryKills: each version has its count in another file; a kernel without a count is an error.
func TestMemoryKills(t *testing.T) {
	const mounts = "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - "
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
		err   error
	}{
		{"version 2", map[string]string{
			"proc/self/mountinfo": mounts + "cgroup2 cgroup2 rw\n", "proc/10/cgroup": "0::/a\n", "cg/cgroup.controllers": "memory\n",
			"cg/a/memory.max": "max\n", "cg/a/memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n",
		}, 2, nil},
		{"version 1", map[string]string{
			"proc/self/mountinfo": mounts + "cgroup cgroup rw,memory\n", "proc/10/cgroup": "4:memory:/a\n",
			"cg/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
		}, 7, nil},
		{"version 1 before 4.13", map[string]string{
			"proc/self/mountinfo": mounts + "cgroup cgroup rw,memory\n", "proc/10/cgroup": "4:memory:/a\n",
			"cg/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n",
		}, 0, ErrNotCounted},
		{"a group that is gone", map[string]string{
			"proc/self/mountinfo": mounts + "cgroup cgroup rw,memory\n", "proc/10/cgroup": "4:memory:/a\n",
		}, 0, os.ErrNotExist},
	} {
		m, err := ReadMemory(host(t, tt.files), 10)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got, err := m.Kills(); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: Kills() = %d, %v, want %d, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}
