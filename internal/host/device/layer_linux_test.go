package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// TestInMemory: memory is found at the bottom of any stack, and a disk is not taken for memory.
func TestInMemory(t *testing.T) {
	_, onDisk := disktest.Disk(t, disktest.Options{Direct: true})
	_, direct := disktest.Disk(t, disktest.Options{Memory: true})
	_, btrfs := disktest.Disk(t, disktest.Options{Kind: "btrfs", Memory: true})
	tmpfs := disktest.Tmpfs(t, "size=300m")
	outer := disktest.ImageIn(t, tmpfs, 200<<20)
	first := disktest.Loop(t, outer, false)
	disktest.Format(t, first, "ext4")
	between := disktest.Mount(t, first, "ext4", 0, "")
	second := disktest.Loop(t, disktest.ImageIn(t, between, 100<<20), false)
	disktest.Format(t, second, "ext4")
	loops := disktest.Mount(t, second, "ext4", 0, "")
	deleted := disktest.Tmpfs(t, "size=100m")
	gone := disktest.Loop(t, disktest.ImageIn(t, deleted, 64<<20), true)
	if err := os.Mkdir(filepath.Join(tmpfs, "overlay"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want string }{
		{"a file of a disk", onDisk, ""},
		{"tmpfs says so itself", tmpfs, ""},
		{"a loop on tmpfs", direct, "is on tmpfs ("},
		{"btrfs on a loop on tmpfs", btrfs, "is on tmpfs ("},
		{"a loop on a loop on tmpfs", loops, "the data of " + filepath.Base(first) + " is on tmpfs (" + tmpfs + ")"},
		{"an overlay on tmpfs", disktest.Overlay(t, filepath.Join(tmpfs, "overlay")), "the data of overlay is on tmpfs"},
		{"an overlay on a loop on tmpfs", disktest.Overlay(t, direct), "is on tmpfs ("},
		{"a block device", gone, "is on tmpfs (" + deleted + ")"},
	} {
		s, err := Host().Of(row.path)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if got := s.InMemory(); (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: InMemory = %q, want %q", row.name, got, row.want)
		}
	}
}

// TestInMemoryHidden: the path that sysfs has for a loop device's file now leads to another file, on a disk.
func TestInMemoryHidden(t *testing.T) {
	dir := t.TempDir()
	disktest.MountAt(t, "tmpfs", dir, "tmpfs", 0, "")
	loop := disktest.Loop(t, disktest.ImageIn(t, dir, 8<<20), false)
	_, disk := disktest.Disk(t, disktest.Options{Direct: true})
	disktest.ImageIn(t, disk, 8<<20)
	// Not by disktest, whose check after the test looks for the same name.
	if err := unix.Mount(disk, dir, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disktest.Unmount(dir); err != nil {
			t.Error(err)
		}
	})
	s, err := Host().Of(loop)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.InMemory(); !strings.Contains(got, "is on tmpfs") {
		t.Errorf("InMemory = %q, want that the file is on tmpfs", got)
	}
}

// TestInMemoryUnnamed: a loop device's file is in memory, and its path in sysfs leads elsewhere or nowhere.
func TestInMemoryUnnamed(t *testing.T) {
	relative := disktest.RelativeOverlay(t)
	for _, row := range []struct{ name, device, memory, unseen string }{
		{"in an overlay with a relative upper folder", disktest.Loop(t, disktest.ImageIn(t, relative, 8<<20), false), "the data of overlay is on tmpfs", ""},
		{"without a name", disktest.MemfdLoop(t, 8<<20), "is on tmpfs", ""},
		{"in another mount namespace", disktest.ElsewhereLoop(t, "8M"), "is on tmpfs", ""},
		{"on a detached mount", disktest.DetachedLoop(t, 8<<20), "", "which no process has mounted any more"},
	} {
		s, err := Host().Of(row.device)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if got := s.InMemory(); (got == "") != (row.memory == "") || !strings.Contains(got, row.memory) {
			t.Errorf("%s: InMemory = %q, want %q", row.name, got, row.memory)
		}
		if why, maybe := s.Unseen(); (why == "") != (row.unseen == "") || !strings.Contains(why, row.unseen) || maybe != (row.unseen != "") {
			t.Errorf("%s: Unseen = %q, %v, want %q", row.name, why, maybe, row.unseen)
		}
		if names := s.Device.Stack; len(names) != 1 {
			t.Errorf("%s: the stack is %v, want the loop device alone", row.name, names)
		}
	}
}

// TestLayers: Layers returns each layer of a stack, with the facts about its cache and how it is reached.
func TestLayers(t *testing.T) {
	outer, dir := disktest.Disk(t, disktest.Options{Direct: true, Size: 200 << 20, Mount: "nobarrier"})
	inner := disktest.Loop(t, disktest.ImageIn(t, dir, 100<<20), true)
	// A loop device has its file's cache, even if its write_cache says that it has none.
	say := func(cache string) error {
		return os.WriteFile(filepath.Join("/sys/block", filepath.Base(inner), "queue/write_cache"), []byte(cache), 0)
	}
	if err := say("write through"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { say("write back") }) // The kernel keeps the setting for the next file.
	s, err := Host().Of(inner)
	if err != nil {
		t.Fatal(err)
	}
	layers := s.Layers()
	if len(layers) < 2 || layers[0].Name() != filepath.Base(inner) || layers[1].Name() != filepath.Base(outer) {
		t.Fatalf("Layers = %+v, want %s on %s", layers, inner, outer)
	}
	a, b := layers[0], layers[1]
	if !a.Volatile || !b.Volatile {
		t.Errorf("volatile: %v and %v, want both", a.Volatile, b.Volatile)
	}
	if a.Passed || !b.Passed {
		t.Errorf("passed: %v and %v, want the lower one", a.Passed, b.Passed)
	}
	if a.On != "" || b.On != "ext4 (nobarrier)" {
		t.Errorf("on: %q and %q", a.On, b.On)
	}
	for _, path := range []string{dir, disktest.Overlay(t, dir)} {
		if s, err = Host().Of(path); err != nil || s.Unflushed() != "nobarrier" {
			t.Errorf("%s: Unflushed = %q, %v", path, s.Unflushed(), err)
		}
	}
}
