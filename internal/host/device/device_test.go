package device

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/testkit/disktest"
)

func TestNodePath(t *testing.T) {
	for name, want := range map[string]string{"sda": "/dev/sda", "cciss!c0d0": "/dev/cciss/c0d0"} {
		if got := NodePath(name); got != want {
			t.Errorf("NodePath(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestOfFixture(t *testing.T) {
	f := fixture(t, disktest.BlockMounts, disktest.BlockFiles())
	for _, tt := range []struct {
		path, device, stack, why string
	}{
		{path: "/fixture/shm/x", why: "tmpfs is memory"},
		{path: "/fixture/ro", why: "overlay without an upper folder is read-only"},
		{path: "/fixture/rel", why: `relative name`},
		{path: "/fixture/nfs/a", why: "nfs4: data goes over the network to filer:/export/data"},
		{path: "/fixture/with space/y", why: "fuse.sshfs: data goes to the program that serves me@there:/x"},
		{path: "/fixture/nine", why: "9p: data goes to the host's folder behind the tag hostshare"},
		{path: "/fixture/zfs", why: "zfs: the pool"},
		{path: "/fixture/b2", why: "btrfs spreads its data over sdb, sdc"},
		{path: "/fixture/b3", why: "no btrfs with a member missing"},
		{path: "/fixture/gone", why: "device 9:99, which sysfs doesn't show"},
		{path: "/fixture/merged2", why: "overlay on tmpfs is memory"},
		{path: "/fixture/none", device: "nvme0n1 259:0", stack: "nvme0n1p1 nvme0n1"},
		{path: "/fixture/shmoo", device: "nvme0n1 259:0", stack: "nvme0n1p1 nvme0n1"},
		{path: "/fixture/crypt/a", device: "dm-0 253:0", stack: "dm-0 nvme0n1p2 nvme0n1"},
		{path: "/fixture/bind", device: "dm-0 253:0", stack: "dm-0 nvme0n1p2 nvme0n1"},
		{path: "/fixture/crypt/inner/f", device: "loop3 7:3", stack: "loop3 dm-0 nvme0n1p2 nvme0n1"},
		{path: "/fixture/merged", device: "loop3 7:3", stack: "loop3 dm-0 nvme0n1p2 nvme0n1"},
		{path: "/fixture/b1", device: "nvme0n1 259:0", stack: "nvme0n1p1 nvme0n1"},
	} {
		s, err := f.Of(tt.path)
		if err != nil {
			t.Errorf("Of(%q): %v", tt.path, err)
			continue
		}
		device, stack := "", ""
		if s.Device != nil {
			device = fmt.Sprintf("%s %s", s.Device.Name, s.Device.Number)
			stack = strings.Join(s.Device.Stack, " ")
		}
		if device != tt.device || stack != tt.stack {
			t.Errorf("Of(%q) = %q on %q, want %q on %q", tt.path, device, stack, tt.device, tt.stack)
		}
		if (tt.why == "") != (s.Why == "") || !strings.Contains(s.Why, tt.why) {
			t.Errorf("Of(%q): why %q, want %q", tt.path, s.Why, tt.why)
		}
		if (s.Device == nil) == (s.Why == "") {
			t.Errorf("Of(%q): device %v and why %q: exactly one must be set", tt.path, s.Device, s.Why)
		}
	}
}

func TestOfBtrfsListsAllMembers(t *testing.T) {
	f := fixture(t, disktest.BlockMounts, disktest.BlockFiles())
	s, err := f.Of("/fixture/b2")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range s.Devices {
		names = append(names, d.Name)
	}
	if want := []string{"sdb", "sdc"}; !slices.Equal(names, want) {
		t.Fatalf("devices = %q, want %q", names, want)
	}
	if !s.Devices[0].Rotational {
		t.Error("sdb is not rotational")
	}
}

func TestDeviceProperties(t *testing.T) {
	f := fixture(t, disktest.BlockMounts, disktest.BlockFiles())
	s, err := f.Of("/fixture")
	if err != nil {
		t.Fatal(err)
	}
	want := &Device{
		Name: "nvme0n1", Number: Number{Major: 259, Minor: 0}, Model: "SAMSUNG MZVLB512HBJQ-000L7", Size: 1000215216 * 512,
		Scheduler: "none", NrRequests: 1023, WriteCache: "write back", LogicalBS: 512,
		Stack: []string{"nvme0n1p1", "nvme0n1"},
	}
	if diff := cmp.Diff(want, s.Device); diff != "" {
		t.Errorf("Device (-want +got):\n%s", diff)
	}
	if m := s.Mount; m.FSType != "ext4" || m.Options != "rw,relatime,rw,errors=remount-ro" || m.Source != "/dev/nvme0n1p1" {
		t.Errorf("Mount = %+v", m)
	}
	for path, model := range map[string]string{
		"/fixture/crypt":       "device mapper CRYPT",
		"/fixture/crypt/inner": "loop device, buffered",
	} {
		s, err := f.Of(path)
		if err != nil || s.Device == nil || s.Device.Model != model {
			t.Errorf("Of(%q) = %+v, %v, want model %q", path, s, err, model)
		}
	}
}

func TestOfMount(t *testing.T) {
	f := fixture(t, disktest.BlockMounts, disktest.BlockFiles())
	for _, tt := range []struct {
		name  string
		mount Mount
		want  string
		why   string
	}{
		{"container's layer", Mount{FSType: "overlay", Number: Number{Minor: 77}, Point: "/", Upper: "/fixture/crypt/inner/up"}, "loop3", ""},
		{"no upper folder", Mount{FSType: "overlay"}, "", "read-only"},
		{"relative upper folder", Mount{FSType: "overlay", Upper: "x/diff"}, "", "relative"},
		{"bind", Mount{FSType: "xfs", Number: Number{Major: 253}, Point: "/data"}, "dm-0", ""},
		{"tmpfs", Mount{FSType: "tmpfs", Number: Number{Minor: 9}}, "", "tmpfs is memory"},
		{"btrfs", Mount{FSType: "btrfs", Source: "/dev/nvme0n1p1"}, "nvme0n1", ""},
		{"nothing said", Mount{}, "", "no block device"},
	} {
		s, err := f.OfMount(tt.mount)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := ""
		if s.Device != nil {
			got = s.Device.Name
		}
		if got != tt.want || !strings.Contains(s.Why, tt.why) {
			t.Errorf("%s: %q, %q, want %q, %q", tt.name, got, s.Why, tt.want, tt.why)
		}
	}
}

func TestOfErrors(t *testing.T) {
	if _, err := (FS{Proc: t.TempDir()}).Of("/"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without mountinfo: %v, want ErrUnsupported", err)
	}
	loop := `1 0 259:1 / / rw - ext4 /dev/a rw
2 1 0:40 / /a rw - overlay overlay rw,upperdir=/b/u
3 1 0:41 / /b rw - overlay overlay rw,upperdir=/a/u
`
	if _, err := fixture(t, loop, nil).Of("/a"); err == nil {
		t.Error("two overlays on each other: no error")
	}
	if _, err := fixture(t, "", nil).Of("/a"); err == nil {
		t.Error("no mounts: no error")
	}
}
