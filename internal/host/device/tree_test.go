package device

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/disktest"
)

// sketch draws a tree with a line for each node: its kind, name, number and special properties.
func sketch(n *Node, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %s", indent, n.Kind, n.Name)
	if d := n.Device; d != nil && !d.Number.IsZero() {
		fmt.Fprintf(&b, " %s", d.Number)
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

func TestTree(t *testing.T) {
	f := fixture(t, disktest.StackMounts, disktest.StackFiles())
	f.Targets = func(n Number) ([]Target, error) {
		if n == (Number{253, 5}) {
			return []Target{{Type: "thin"}}, nil
		}
		return nil, fmt.Errorf("only root may ask")
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
		// A layer on the upper folder's own mount, or with a relative name, is not reported again.
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
	f := fixture(t, disktest.StackMounts, disktest.StackFiles())
	s, err := f.Of("/fixture/lv")
	if err != nil {
		t.Fatal(err)
	}
	lv := s.Tree.Below[0]
	if lv.Device.MQ || !lv.Below[0].Device.MQ || lv.Below[0].Device.MaxIO != 1280<<10 {
		t.Errorf("LVM %+v on %+v, want a device without queues on one with them and 1280 KiB at most", lv.Device, lv.Below[0].Device)
	}
	s, err = f.Of("/fixture/mixed")
	if err != nil || s.Device == nil {
		t.Fatalf("overlay = %+v, %v", s, err)
	}
	if s.Device.Name != "dm-5" {
		t.Errorf("the overlay's device is %s, want the upper folder's dm-5", s.Device.Name)
	}
	if stack := strings.Join(s.Device.Stack, " "); strings.Contains(stack, "md0") {
		t.Errorf("the overlay's stack is %s, want the upper folder's alone", stack)
	}
	if got := s.Tree.Data().Mount.FSType; got != "xfs" {
		t.Errorf("Data of an overlay is %s, want the upper folder's xfs", got)
	}
}

// TestTreeInACircle: the walk ends for devices below each other, which the kernel forbids.
func TestTreeInACircle(t *testing.T) {
	files := disktest.StackFiles()
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, "sys/devices/virtual/block/dm-4/slaves")
	})
	files["sys/devices/virtual/block/dm-4/slaves/dm-5"] = "-> sys/devices/virtual/block/dm-5"
	s, err := fixture(t, disktest.StackMounts, files).Of("/fixture/thin")
	if err != nil || len(s.Tree.Below[0].Below) != 1 || len(s.Tree.Below[0].Below[0].Below) != 0 {
		t.Errorf("two devices on each other: %v, %v", err, s)
	}
}

// TestDockerUpper: dockerUpper finds the relative upper folders of Docker's overlays with many layers, and guesses no others.
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
