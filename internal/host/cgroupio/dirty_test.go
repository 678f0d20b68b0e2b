package cgroupio

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
)

// TestReadDirtyRoom: the lowest memory limit around a process leaves it the mean of the two thresholds of unwritten data, if that is
// less than the machine's. Version 1 has no such room.
func TestReadDirtyRoom(t *testing.T) {
	const unified, split = "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup2 cgroup2 rw\n", "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup cgroup rw,memory\n"
	files := func(more map[string]string) map[string]string {
		all := map[string]string{
			"proc/self/mountinfo": unified, "proc/10/cgroup": "0::/pod/box\n", "cg/cgroup.controllers": "memory\n", "proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:   1000000 kB\n",
			"proc/sys/vm/dirty_ratio": "20\n", "proc/sys/vm/dirty_background_ratio": "10\n", "proc/sys/vm/dirty_bytes": "0\n", "proc/sys/vm/dirty_background_bytes": "0\n",
			"cg/pod/memory.max": "100000000\n", "cg/pod/memory.high": "max\n", "cg/pod/box/memory.max": "max\n", "cg/pod/box/memory.high": "max\n",
		}
		for name, text := range more {
			all[name] = text
		}
		return all
	}
	for _, tt := range []struct {
		name string
		more map[string]string
		want *DirtyRoom
	}{
		{"a pod's", nil, &DirtyRoom{15000000, 100000000, "/pod"}},
		{"its own, which is less", map[string]string{"cg/pod/box/memory.high": "50000000\n"}, &DirtyRoom{7500000, 50000000, "/pod/box"}},
		{"thresholds in bytes", map[string]string{"proc/sys/vm/dirty_bytes": "102400000\n", "proc/sys/vm/dirty_background_bytes": "51200000\n"}, &DirtyRoom{7500000, 100000000, "/pod"}},
		{"a background above the other is half of it", map[string]string{"proc/sys/vm/dirty_background_ratio": "30\n"}, &DirtyRoom{15000000, 100000000, "/pod"}},
		{"more than the machine has", map[string]string{"cg/pod/memory.max": "2000000000\n"}, nil},
		{"no limit", map[string]string{"cg/pod/memory.max": "max\n"}, nil},
		{"version 1", map[string]string{"proc/self/mountinfo": split, "proc/10/cgroup": "4:memory:/pod/box\n", "cg/pod/memory.limit_in_bytes": "100000000\n"}, nil},
	} {
		got, err := ReadDirtyRoom(host(t, files(tt.more)), 10)
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, d)
		}
	}
}

// TestReadCosts: iocost counts a group's use of the device's time.
func TestReadCosts(t *testing.T) {
	f := host(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n4 1 0:32 / ROOT/cg rw - cgroup2 cgroup2 rw\n", "cg/cgroup.controllers": "io\n",
		"proc/10/cgroup": "0::/pod\n", "proc/11/cgroup": "0::/\n",
		"cg/pod/io.stat": "7:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.usage=1500000\n254:0 rbytes=1 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
		"cg/io.stat":     "7:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0 cost.vrate=100.00 cost.usage=9\n",
	})
	if got, group, err := ReadCosts(f, 10); err != nil || group != "/pod" || !cmp.Equal(got, map[device.Number]time.Duration{{Major: 7}: 1500 * time.Millisecond}) {
		t.Errorf("ReadCosts = %v, %q, %v", got, group, err)
	}
	if got, _, err := ReadCosts(f, 11); err != nil || got != nil {
		t.Errorf("of the root group: %v, %v", got, err)
	}
}
