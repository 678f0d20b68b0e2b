package device

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// loopSize is the size of the tests' loop devices, in bytes.
const loopSize = 320 << 20

// bare makes a loop device without a file system.
func bare(t *testing.T) string { return disktest.Loop(t, disktest.Image(t, loopSize), false) }

func TestOfRealLoop(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			loop, point := disktest.Disk(t, disktest.Options{Kind: kind, Size: loopSize})
			checkLoop(t, filepath.Join(point, "not", "yet"), kind, loop)
			checkLoop(t, loop, RawBlock, loop)

			// A bind mount of a folder in it, and an overlay whose upper folder is there.
			up, work, lower := filepath.Join(point, "up, 1"), filepath.Join(point, "w"), t.TempDir()
			for _, d := range []string{up, work} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			checkLoop(t, disktest.Mount(t, up, "", unix.MS_BIND, ""), kind, loop)
			escaped := strings.ReplaceAll(up, ",", `\,`)
			merged := disktest.Mount(t, "overlay", "overlay", 0, "lowerdir="+lower+",upperdir="+escaped+",workdir="+work)
			checkLoop(t, merged, "overlay", loop)
			below := tree(t, merged).Below
			if len(below) != 2 || below[0].Role != RoleUpper || below[1].Role != RoleLower {
				t.Fatalf("overlay: below are %s, want the upper folder's mount and the lower one's", names(below))
			}
			if below[0].Name != point {
				t.Errorf("overlay: the upper folder's mount is %s, want %s", below[0].Name, point)
			}
		})
	}
}

// checkLoop checks that path is found on the loop device, and the loop device on the device of the test's folder.
func checkLoop(t *testing.T, path, kind, loop string) {
	t.Helper()
	s, err := Host().Of(path)
	if err != nil {
		t.Fatalf("Of(%s): %v", path, err)
	}
	if s.Mount.FSType != kind || s.Device == nil {
		t.Fatalf("Of(%s) = %+v, want %s with a device", path, s, kind)
	}
	if "/dev/"+s.Device.Name != loop || s.Device.Stack[0] != s.Device.Name {
		t.Errorf("Of(%s): device %s, first of %q, want %s", path, s.Device.Name, s.Device.Stack, loop)
	}
	if s.Device.Size != loopSize {
		t.Errorf("Of(%s): a device of %d bytes, want 320 MiB", path, s.Device.Size)
	}
	if s.Device.Model != "loop device, buffered" {
		t.Errorf("Of(%s): model %q", path, s.Device.Model)
	}
	if !s.Device.MQ || s.Device.MaxIO == 0 {
		t.Errorf("Of(%s): device %+v, want queues and a largest I/O", path, s.Device)
	}
	below, err := Host().Of(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if below.Device != nil && !slices.Contains(s.Device.Stack, below.Device.Name) {
		t.Errorf("Of(%s): stack %v, want %s in it", path, s.Device.Stack, below.Device.Name)
	}
}

// tree returns the tree of a path.
func tree(t *testing.T, path string) *Node {
	t.Helper()
	s, err := Host().Of(path)
	if err != nil {
		t.Fatal(err)
	}
	return s.Tree
}

func names(list []*Node) (all []string) {
	for _, n := range list {
		all = append(all, n.Role+" "+n.Name)
	}
	return all
}

// TestOfRealPartition: the device of a partition is its whole disk.
func TestOfRealPartition(t *testing.T) {
	loop := bare(t)
	second := disktest.Partitions(t, loop)[1]
	disktest.Format(t, second, "ext4")
	point := disktest.Mount(t, second, "ext4", 0, "")
	for _, path := range []string{point, second} {
		s, err := Host().Of(path)
		if err != nil || s.Device == nil {
			t.Fatalf("Of(%s) = %+v, %v", path, s, err)
		}
		name := filepath.Base(loop)
		if s.Device.Name != name || s.Device.Size != loopSize || !slices.Equal(s.Device.Stack[:2], []string{name + "p2", name}) {
			t.Errorf("Of(%s): device %+v, want the whole %s", path, s.Device, loop)
		}
		part := s.Tree.Below[0]
		if part.Kind != KindPartition || part.Device.Size != loopSize/2-512<<10 || part.Device.Number == s.Device.Number {
			t.Errorf("Of(%s): %+v %+v, want a partition with its own number and half of the size", path, part, part.Device)
		}
	}
}

// TestOfRealBtrfs: a btrfs on two disks has both as its devices, whichever one its mount names.
func TestOfRealBtrfs(t *testing.T) {
	for _, profile := range []string{"raid1", "single"} {
		t.Run(profile, func(t *testing.T) {
			one, other := bare(t), bare(t)
			disktest.Format(t, other, "btrfs", "-d", profile, one)
			point := disktest.Mount(t, one, "btrfs", 0, "device="+other)
			s, err := Host().Of(point)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{filepath.Base(one), filepath.Base(other)}
			var got []string
			for _, d := range s.Devices {
				got = append(got, d.Name)
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || s.Device != nil || !strings.Contains(s.Why, "spreads its data over") {
				t.Errorf("devices (-want +got):\n%s\nwhy %q", diff, s.Why)
			}
			if s.Tree.Level != profile || s.Tree.Below[0].Role != RoleMember {
				t.Errorf("profile %q, role %q, want %s and member", s.Tree.Level, s.Tree.Below[0].Role, profile)
			}
		})
	}
}

// TestOfRealLoopOnLoop: a disk in a file on a disk in a file, one with and one without direct I/O.
func TestOfRealLoopOnLoop(t *testing.T) {
	outer, point := disktest.Disk(t, disktest.Options{Direct: true})
	inner := disktest.Loop(t, disktest.ImageIn(t, point, 32<<20), false)
	disktest.Format(t, inner, "ext4")
	s, err := Host().Of(disktest.Mount(t, inner, "ext4", 0, ""))
	if err != nil || s.Device == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := []string{filepath.Base(inner), filepath.Base(outer)}; !slices.Equal(s.Device.Stack[:2], want) {
		t.Errorf("stack %v, want %v first", s.Device.Stack, want)
	}
	top := s.Tree.Below[0]
	if top.Kind != KindLoop || top.DirectIO {
		t.Fatalf("%s, direct %v, want a buffered loop device", top.Kind, top.DirectIO)
	}
	if !strings.HasPrefix(top.File, point) || len(top.Below) != 1 {
		t.Fatalf("over %q on %s, want a file in %s", top.File, names(top.Below), point)
	}
	if file := top.Below[0]; file.Role != RoleFile || file.Name != point || !file.Below[0].DirectIO {
		t.Errorf("%+v on %+v, want the file's mount on a direct loop device", file, file.Below[0])
	}
}

// TestOfRealLoopWithoutFile: the loop device's file was deleted.
func TestOfRealLoopWithoutFile(t *testing.T) {
	image := disktest.Image(t, 1<<20)
	loop := disktest.Loop(t, image, false)
	// The test's end finds the device by its file, so the file gets its name back by another link.
	if err := errors.Join(os.Link(image, image+".kept"), os.Remove(image)); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(image+".kept", image)
	n := tree(t, loop).Below[0]
	if n.Kind != KindLoop || !strings.HasSuffix(n.File, " (deleted)") || !strings.Contains(n.Why, "deleted") {
		t.Errorf("%+v, want a loop device whose file was deleted", n)
	}
}

func TestOfRealMemoryAndPrograms(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=1m")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	s, err := Host().Of(filepath.Join(link, "f"))
	if err != nil || s.Device != nil || s.Why != "tmpfs is memory" {
		t.Errorf("Of(tmpfs through a link) = %+v, %v, want no device because it is memory", s, err)
	}
	if _, err := Host().Of(filepath.Join(dir, "x\x00y")); err == nil {
		t.Error("Of(name with a zero byte): no error")
	}
	// A disk in memory still is a disk.
	s, err = Host().Of(disktest.Loop(t, disktest.ImageIn(t, dir, 512<<10), false))
	if err != nil || s.Device == nil || s.Tree.Below[0].Below[0].Why != "tmpfs is memory" {
		t.Errorf("Of(loop device in memory) = %+v, %v, want a device in memory", s, err)
	}
	s, err = Host().Of(filepath.Join(disktest.FUSE(t), "f"))
	if err != nil || s.Device != nil || s.Why != "fuse.plimsolltest: data goes to the program that serves there:/x" {
		t.Errorf("Of(FUSE) = %+v, %v, want no device because a program serves it", s, err)
	}
}

// TestOfRealMD: the disks of a software RAID are below it.
func TestOfRealMD(t *testing.T) {
	one, other := bare(t), bare(t)
	md := disktest.MD(t, "raid1", loopSize, one, other)
	n := tree(t, md).Below[0]
	if n.Kind != KindMD || n.Level != "raid1" {
		t.Errorf("%s of level %q, want a raid1", n.Kind, n.Level)
	}
	if n.Device.MQ {
		t.Errorf("%+v has queues", n.Device)
	}
	if len(n.Below) != 2 || n.Below[0].Kind != KindLoop {
		t.Errorf("on %s, want two loop devices", names(n.Below))
	}
}
