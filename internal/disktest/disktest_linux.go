package disktest

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/leaktest"
)

// Size is what a disk of these tests has where the test doesn't care: xfs wants 300 MiB at least,
// btrfs about 110. The files are sparse.
const Size = 320 << 20

// Root skips the test without root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes disks and mounts them")
	}
}

// Need skips the test without a program of the system.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s", p)
		}
	}
}

// Command runs a program of the system and returns what it says.
func Command(t testing.TB, name string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// Image makes a sparse file in a folder of its own, and has the test fail if anything of it is left
// mounted or bound.
func Image(t testing.TB, size int64) string {
	t.Helper()
	dir := t.TempDir()
	leaktest.Check(t, dir)
	return ImageIn(t, dir, size)
}

// ImageIn makes a sparse file in a folder.
func ImageIn(t testing.TB, dir string, size int64) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "image")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// Loop presents a file as a disk, whose node it returns. options are losetup's, such as
// "--direct-io=on" or "--partscan".
func Loop(t testing.TB, image string, options ...string) string {
	t.Helper()
	Root(t)
	Need(t, "losetup")
	loop := Command(t, "losetup", append(options, "--find", "--show", image)...)
	t.Cleanup(func() { Command(t, "losetup", "--detach", loop) })
	return loop
}

// Disk is a loop device over a new file of Size bytes.
func Disk(t testing.TB, options ...string) string {
	t.Helper()
	Root(t)
	return Loop(t, Image(t, Size), options...)
}

// makers make file systems over what was on the disk before.
var makers = map[string][]string{
	// Without lazy initialisation, which would write in the background.
	"ext4":  {"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"},
	"xfs":   {"mkfs.xfs", "-q", "-f"},
	"btrfs": {"mkfs.btrfs", "-q", "-f"},
}

// Make makes a file system of a kind (ext4, xfs, btrfs) on disks. It skips the test where there
// is no program for it.
func Make(t testing.TB, kind string, args ...string) {
	t.Helper()
	mkfs := makers[kind]
	Need(t, mkfs[0])
	Command(t, mkfs[0], append(mkfs[1:len(mkfs):len(mkfs)], args...)...)
}

// Mount mounts something on a folder of its own until the end of the test.
func Mount(t testing.TB, source, kind string, flags uintptr, data string) string {
	t.Helper()
	Root(t)
	dir := t.TempDir()
	if err := unix.Mount(source, dir, kind, flags, data); err != nil {
		t.Fatalf("mount %s on %s as %q with %q: %v", source, dir, kind, data, err)
	}
	t.Cleanup(func() {
		err := unix.Unmount(dir, 0)
		// What a process held open goes a moment after it.
		for end := time.Now().Add(5 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(end); err = unix.Unmount(dir, 0) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("unmount %s: %v", dir, err)
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
	return dir
}

// Filesystem makes a file system on a new loop device and mounts it.
func Filesystem(t testing.TB, kind, data string, options ...string) (loop, dir string) {
	t.Helper()
	loop = Disk(t, options...)
	Make(t, kind, loop)
	return loop, Mount(t, loop, kind, 0, data)
}

// Partitions tells the kernel of two equal parts of a disk, and returns their nodes. Nothing is written: not
// every kernel reads partition tables.
func Partitions(t testing.TB, disk string, size int64) [2]string {
	t.Helper()
	Need(t, "addpart", "delpart")
	const start = 2048 // Sectors of 512 bytes, as is usual.
	each := (size/512 - start) / 2
	var parts [2]string
	for i := range int64(2) {
		number := strconv.FormatInt(i+1, 10)
		Command(t, "addpart", disk, number, strconv.FormatInt(start+i*each, 10), strconv.FormatInt(each, 10))
		t.Cleanup(func() { Command(t, "delpart", disk, number) })
		parts[i] = disk + "p" + number
	}
	return parts
}
