package vm

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

// TestMachineRoom: a machine needs the memory that the computer has left, and the control groups that this process is in: what they use counts, but not the
// pages of files.
func TestMachineRoom(t *testing.T) {
	const need = 256 << 20 // and 160 MiB of QEMU's own
	v1 := map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg/memory rw - cgroup cgroup rw,memory\n",
		"proc/self/cgroup":    "3:cpu:/x\n2:memory:/a/b\n0::/\n",
		"proc/meminfo":        "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n",
	}
	v2 := maps.Clone(v1)
	v2["proc/self/mountinfo"] = "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup2 cgroup2 rw\n"
	v2["proc/self/cgroup"] = "0::/a/b\n"
	v2["cg/cgroup.controllers"] = "cpu memory"
	const mega = "000000"
	group := func(dir, limit, used, active, inactive string) map[string]string {
		if dir == "cg/memory" || strings.HasPrefix(dir, "cg/memory/") {
			return map[string]string{
				dir + "/memory.limit_in_bytes": limit + "\n", dir + "/memory.usage_in_bytes": used + "\n",
				dir + "/memory.stat": "inactive_file 1\nactive_file 1\ntotal_inactive_file " + inactive + "\ntotal_active_file " + active + "\n",
			}
		}
		return map[string]string{
			dir + "/memory.max": limit + "\n", dir + "/memory.current": used + "\n", dir + "/memory.stat": "anon 1\ninactive_file " + inactive + "\nactive_file " + active + "\n",
		}
	}
	const fits = ""
	for _, tt := range []struct {
		name   string
		base   map[string]string
		groups []map[string]string
		want   string
	}{
		{"no groups", map[string]string{"proc/meminfo": "MemAvailable: 400000 kB\n"}, nil, "of memory are free here"},
		{"nothing known", map[string]string{"proc/x": ""}, nil, fits},
		{"little in all", v2, []map[string]string{{"proc/meminfo": "MemAvailable: 400000 kB\n"}}, "it needs 416 MiB with QEMU's own memory, and 391 MiB of memory are free here; free some, or make memory:"},
		{"v2, no limit", v2, []map[string]string{group("cg/a/b", "max", "5000"+mega, "0", "0")}, fits},
		{"v2, enough", v2, []map[string]string{group("cg/a/b", "1000"+mega, "500"+mega, "0", "0")}, fits},
		{"v2, too little", v2, []map[string]string{group("cg/a/b", "536870912", "268435456", "0", "0")}, "and the control group /a/b has 256 MiB of its 512 MiB free; raise the group's limit, or make memory:"},
		{"v2, files go", v2, []map[string]string{group("cg/a/b", "1000"+mega, "1000"+mega, "250"+mega, "250"+mega)}, fits},
		{"v2, above", v2, []map[string]string{group("cg/a/b", "max", "1", "0", "0"), group("cg/a", "536870912", "536870912", "0", "0")}, "and the control group /a has 0 B of its 512 MiB free"},
		{"v1, no limit", v1, []map[string]string{group("cg/memory/a/b", "9223372036854771712", "5000"+mega, "0", "0")}, fits},
		{"v1, too little", v1, []map[string]string{group("cg/memory/a/b", "536870912", "268435456", "0", "0")}, "the control group /a/b has 256 MiB of its 512 MiB free"},
		{"v1, above", v1, []map[string]string{group("cg/memory/a/b", "9223372036854771712", "1", "0", "0"), group("cg/memory/a", "536870912", "536870912", "1"+mega, "0")}, "the control group /a has 977 KiB of its 512 MiB free"},
		{"v1, files of groups below go", v1, []map[string]string{group("cg/memory/a/b", "1000"+mega, "1000"+mega, "250"+mega, "250"+mega)}, fits},
		{"torn", v2, []map[string]string{group("cg/a/b", "", "x", "0", "0")}, fits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(tt.base)
			for _, g := range tt.groups {
				maps.Copy(files, g)
			}
			root := treetest.Make(t, files)
			v := New(Options{State: t.TempDir()}).(*Engine)
			err := v.roomIn(device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}, need)
			if tt.want == fits {
				if err != nil {
					t.Errorf("roomIn() = %v", err)
				}
				return
			}
			if !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("roomIn() = %v, want a refusal with %q", err, tt.want)
			}
		})
	}
}
