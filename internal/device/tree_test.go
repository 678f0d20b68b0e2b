package device

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sketch draws a tree with a line for each node: its kind, name, number and what is particular to it.
func sketch(n *Node, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %s", indent, n.Kind, n.Name)
	if d := n.Device; d != nil && d.Major != 0 {
		fmt.Fprintf(&b, " %d:%d", d.Major, d.Minor)
	}
	for _, word := range []string{n.Role, n.File, n.Label, n.Maker, n.Level, n.CacheMode} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	if n.DirectIO {
		b.WriteString(" direct")
	}
	for _, t := range n.Targets {
		fmt.Fprintf(&b, " %s%s", t.Type, t.Level)
	}
	if n.Why != "" {
		b.WriteString(" (" + n.Why + ")")
	}
	b.WriteByte('\n')
	for _, c := range n.Below {
		b.WriteString(sketch(c, indent+"  "))
	}
	return b.String()
}

// stackFiles are devices on devices. Their layout was read in a virtual machine with Linux 6.1 that had
// each of them, but for bcache's and NVMe's, which are the kernel documentation's
// (admin-guide/bcache.rst, and drivers/nvme/host/multipath.c).
func stackFiles() map[string]string {
	files := blockFiles()
	disk := func(name, number string) {
		files["sys/dev/block/"+number] = "-> sys/devices/pci/" + name
		files["sys/devices/pci/"+name+"/dev"] = number + "\n"
		files["sys/devices/pci/"+name+"/mq/0/cpu_list"] = "0\n"
		files["sys/devices/pci/"+name+"/queue/max_sectors_kb"] = "1280\n"
	}
	virtual := func(name, number string, more map[string]string, slaves ...string) {
		dir := "sys/devices/virtual/block/" + name
		files["sys/dev/block/"+number] = "-> " + dir
		files[dir+"/dev"] = number + "\n"
		for k, v := range more {
			files[dir+"/"+k] = v
		}
		for _, s := range slaves {
			at := "sys/devices/virtual/block/" + s
			if _, ok := files["sys/devices/pci/"+s+"/dev"]; ok {
				at = "sys/devices/pci/" + s
			}
			files[dir+"/slaves/"+s] = "-> " + at
		}
	}
	dm := func(name, label, uuid string) map[string]string {
		return map[string]string{"dm/name": label + "\n", "dm/uuid": uuid + "\n", "dm/suspended": "0\n"}
	}
	for name, number := range map[string]string{"sdd": "8:48", "sde": "8:64", "sdf": "8:80", "sdg": "8:96"} {
		disk(name, number)
	}
	virtual("dm-1", "253:1", dm("dm-1", "vg-data", "LVM-AAAA"), "sdd", "sde")
	virtual("dm-2", "253:2", dm("dm-2", "vg-pool_tmeta", "LVM-BBBB-tmeta"), "sdd")
	virtual("dm-3", "253:3", dm("dm-3", "vg-pool_tdata", "LVM-CCCC-tdata"), "sde")
	virtual("dm-4", "253:4", dm("dm-4", "vg-pool-tpool", "LVM-DDDD-tpool"), "dm-2", "dm-3")
	virtual("dm-5", "253:5", dm("dm-5", "vg-thin", "LVM-EEEE"), "dm-4")
	virtual("dm-6", "253:6", dm("dm-6", "mpatha", "mpath-3600a"), "sdf", "sdg")
	virtual("dm-7", "253:7", dm("dm-7", "mpatha-part1", "part1-mpath-3600a"), "dm-6")
	virtual("md0", "9:0", map[string]string{"md/level": "raid5\n", "md/array_state": "clean\n"}, "sdd", "sde", "sdf")
	virtual("bcache0", "252:0", map[string]string{"bcache/cache_mode": "writethrough [writeback] writearound none\n"}, "sdf", "sdg")
	files["sys/devices/pci/sdg/bcache/set/uuid"] = "u\n"
	files["sys/devices/pci/sdf/bcache/cache_mode"] = "writethrough [writeback] writearound none\n"
	virtual("zd0", "230:0", nil)
	virtual("loop5", "7:5", map[string]string{"loop/backing_file": "/fixture/shm/gone.img (deleted)\n", "loop/dio": "1\n"})
	virtual("loop6", "7:6", nil)

	sub := "sys/devices/virtual/nvme-subsystem/nvme-subsys1/"
	files["sys/dev/block/259:7"] = "-> " + sub + "nvme1n1"
	files[sub+"nvme1n1/dev"] = "259:7\n"
	files[sub+"nvme1n1/nvme1n1p1/dev"] = "259:8\n"
	files[sub+"nvme1n1/nvme1n1p1/partition"] = "1\n"
	files["sys/dev/block/259:8"] = "-> " + sub + "nvme1n1/nvme1n1p1"
	for _, c := range []string{"nvme1", "nvme2"} {
		files[sub+c] = "-> sys/devices/pci/nvme/" + c
		way := "sys/devices/pci/nvme/" + c + "/nvme1c" + c[4:] + "n1"
		files[way+"/hidden"] = "1\n"
		files[way+"/mq/0/cpu_list"] = "0\n"
		files["sys/devices/pci/nvme/"+c+"/nvme9c1n1/hidden"] = "1\n" // Of another namespace.
	}

	files["sys/fs/btrfs/u-2/allocation/data/raid1/total_bytes"] = "1\n"
	files["sys/fs/btrfs/u-2/allocation/metadata/raid1/total_bytes"] = "1\n"
	return files
}

const stackMounts = fixtureMounts + `30 1 253:1 / /fixture/lv rw - ext4 /dev/mapper/vg-data rw
31 1 253:5 / /fixture/thin rw - xfs /dev/mapper/vg-thin rw
32 1 253:7 / /fixture/mpath rw - ext4 /dev/mapper/mpatha-part1 rw
33 1 9:0 / /fixture/md rw - ext4 /dev/md0 rw
34 1 252:0 / /fixture/bcache rw - ext4 /dev/bcache0 rw
35 1 230:0 / /fixture/zvol rw - ext4 /dev/zd0 rw
36 1 7:5 / /fixture/deleted rw - ext4 /dev/loop5 rw
37 1 7:6 / /fixture/unbound rw - ext4 /dev/loop6 rw
38 1 259:8 / /fixture/heads rw - xfs /dev/nvme1n1p1 rw
39 1 0:60 / /fixture/mixed rw - overlay overlay rw,lowerdir=/fixture/lv/a:/fixture/lv/b:/fixture/md/c:/fixture/thin/l:rel,upperdir=/fixture/thin/u,workdir=/w
40 1 0:61 / /fixture/readonly ro - overlay overlay ro,lowerdir=/fixture/lv/a:/fixture/md/c
`

func TestTree(t *testing.T) {
	f := fixture(t, stackMounts, stackFiles())
	f.Targets = func(major, minor uint32) ([]Target, error) {
		if major == 253 && minor == 5 {
			return []Target{{Type: "thin"}}, nil
		}
		return nil, fmt.Errorf("only root is told")
	}
	lv := `mount /fixture/lv
  dm dm-1 253:1 vg-data LVM
    disk sdd 8:48
    disk sde 8:64
`
	md := `mount /fixture/md
  md md0 9:0 raid5
    disk sdd 8:48
    disk sde 8:64
    disk sdf 8:80
`
	thin := `mount /fixture/thin
  dm dm-5 253:5 vg-thin LVM thin
    dm dm-4 253:4 vg-pool-tpool LVM
      dm dm-2 253:2 vg-pool_tmeta LVM
        disk sdd 8:48
      dm dm-3 253:3 vg-pool_tdata LVM
        disk sde 8:64
`
	for path, want := range map[string]string{
		"/fixture/lv": lv, "/fixture/md": md, "/fixture/thin": thin,
		"/fixture/none": "mount /\n  partition nvme0n1p1 259:1\n    disk nvme0n1 259:0\n",
		"/fixture/mpath": `mount /fixture/mpath
  dm dm-7 253:7 mpatha-part1 part1
    dm dm-6 253:6 mpatha mpath
      disk sdf 8:80
      disk sdg 8:96
`,
		"/fixture/bcache": `mount /fixture/bcache
  bcache bcache0 252:0 writeback
    disk sdf 8:80 backing
    disk sdg 8:96 cache
`,
		"/fixture/zvol":    "mount /fixture/zvol\n  disk zd0 230:0 (a volume of ZFS: the pool does its own I/O on disks that the kernel doesn't name)\n",
		"/fixture/unbound": "mount /fixture/unbound\n  loop loop6 7:6 (no file is bound to it)\n",
		"/fixture/heads": `mount /fixture/heads
  partition nvme1n1p1 259:8
    nvme-multipath nvme1n1 259:7
      nvme-path nvme1c1n1
      nvme-path nvme1c2n1
`,
		"/fixture/deleted": `mount /fixture/deleted
  loop loop5 7:5 /fixture/shm/gone.img (deleted) direct (its file was deleted: this is what its name would be on)
    mount /fixture/shm file (tmpfs is memory)
`,
		"/fixture/b2": `mount /fixture/b2 raid1
  disk sdb 8:16 member
  disk sdc 8:32 member
`,
		"/fixture/merged": `mount /fixture/merged
  mount /fixture/crypt/inner upper
    loop loop3 7:3 /fixture/crypt/disk.img
      mount /fixture/crypt file
        dm dm-0 253:0 CRYPT
          partition nvme0n1p2 259:2
            disk nvme0n1 259:0
  mount / lower
    partition nvme0n1p1 259:1
      disk nvme0n1 259:0
`,
		// What is on the upper folder's own mount, or named relatively, is not said again.
		"/fixture/mixed": "mount /fixture/mixed\n" + under(thin, "upper") + under(lv, "lower") + under(md, "lower"),
		"/fixture/readonly": "mount /fixture/readonly (overlay without an upper folder is read-only)\n" +
			under(lv, "lower") + under(md, "lower"),
	} {
		s, err := f.Of(path)
		if err != nil {
			t.Errorf("Of(%q): %v", path, err)
			continue
		}
		if diff := cmp.Diff(want, sketch(s.Tree, "")); diff != "" {
			t.Errorf("Of(%q).Tree (-want +got):\n%s", path, diff)
		}
	}
}

// under indents a tree and gives its root a role.
func under(tree, role string) string {
	first, rest, _ := strings.Cut(tree, "\n")
	lines := "  " + first + " " + role + "\n"
	for line := range strings.Lines(rest) {
		lines += "  " + line
	}
	return lines
}

func TestTreeProperties(t *testing.T) {
	f := fixture(t, stackMounts, stackFiles())
	s, err := f.Of("/fixture/lv")
	if err != nil {
		t.Fatal(err)
	}
	lv := s.Tree.Below[0]
	if lv.Device.MQ || !lv.Below[0].Device.MQ || lv.Below[0].Device.MaxIO != 1280<<10 {
		t.Errorf("LVM %+v on %+v, want a device without queues on one with them and 1280 KiB at most", lv.Device, lv.Below[0].Device)
	}
	s, err = f.Of("/fixture/mixed")
	if err != nil || s.Device == nil || s.Device.Name != "dm-5" || strings.Contains(strings.Join(s.Device.Stack, " "), "md0") {
		t.Errorf("overlay = %+v, %v, want the upper folder's dm-5 alone in the stack", s.Device, err)
	}
	if got := s.Tree.Data().Mount.FSType; got != "xfs" {
		t.Errorf("Data of an overlay is %s, want the upper folder's xfs", got)
	}
}

// TestTreeInACircle: devices that stand on each other, which the kernel forbids, end.
func TestTreeInACircle(t *testing.T) {
	files := stackFiles()
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, "sys/devices/virtual/block/dm-4/slaves")
	})
	files["sys/devices/virtual/block/dm-4/slaves/dm-5"] = "-> sys/devices/virtual/block/dm-5"
	s, err := fixture(t, stackMounts, files).Of("/fixture/thin")
	if err != nil || len(s.Tree.Below[0].Below) != 1 || len(s.Tree.Below[0].Below[0].Below) != 0 {
		t.Errorf("two devices on each other: %v, %v", err, s)
	}
}

// TestDockerUpper: the relative names that Docker gives to an overlay with many layers are found
// where it mounts them, and no others are guessed.
func TestDockerUpper(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "abc", "diff"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		point, upper, want string
	}{
		{filepath.Join(root, "abc", "merged"), "abc/diff", filepath.Join(root, "abc", "diff")},
		{filepath.Join(root, "abc", "merged"), "xyz/diff", ""},
		{filepath.Join(root, "abc", "other"), "abc/diff", ""},
		{filepath.Join(root, "xyz", "merged"), "xyz/diff", ""},
	} {
		if got := dockerUpper(Mount{FSType: "overlay", Point: tt.point, Upper: tt.upper}); got != tt.want {
			t.Errorf("dockerUpper(%s, %s) = %q, want %q", tt.point, tt.upper, got, tt.want)
		}
	}
}
