package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
)

// needRoot skips a test that needs root.
func needRoot(t testing.TB, does string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: " + does)
	}
}

// Mount mounts source on a new folder of the test's own (mount(2)) and returns the folder. The end of the test unmounts it, unless
// the test has done so.
func Mount(t testing.TB, source, kind string, flags uintptr, data string) string {
	t.Helper()
	dir := t.TempDir()
	MountAt(t, source, dir, kind, flags, data)
	return dir
}

// MountAt is Mount on an existing folder.
func MountAt(t testing.TB, source, dir, kind string, flags uintptr, data string) {
	t.Helper()
	needRoot(t, "mounts a file system")
	leaktest.Check(t, dir)
	noteMount(t, dir)
	switch err := unix.Mount(source, dir, kind, flags, data); err {
	case nil:
	case unix.EPERM: // EACCES is a failure: a read-only device is a fault of the test.
		t.Skipf("needs the right to mount %s: %v", kind, err)
	case unix.ENODEV:
		t.Skipf("needs %s in the kernel", kind)
	default:
		t.Fatalf("mount %s on %s: %v", source, dir, err)
	}
	t.Cleanup(func() {
		// EINVAL: the test has unmounted it itself.
		if err := Unmount(dir); err != nil && err != unix.EINVAL {
			t.Errorf("unmount %s: %v", dir, err)
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
}

// Tmpfs mounts an empty tmpfs with options as in tmpfs(5), such as "size=8m", on a new folder.
func Tmpfs(t testing.TB, options string) string {
	t.Helper()
	return Mount(t, "tmpfs", "tmpfs", 0, options)
}

// Overlay mounts an empty overlay, like that of a container's layer, and returns the mount point. Its upper folder is on the
// file system of the folder on.
func Overlay(t testing.TB, on string) string {
	t.Helper()
	upper, work := filepath.Join(on, "upper"), filepath.Join(on, "work")
	for _, dir := range []string{upper, work} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return Mount(t, "overlay", "overlay", 0, "lowerdir="+t.TempDir()+",upperdir="+upper+",workdir="+work)
}

// Remount changes the flags of a mount, such as unix.MS_RDONLY.
func Remount(t testing.TB, dir string, flags uintptr) {
	t.Helper()
	if err := patiently(func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT|flags, "") }); err != nil {
		t.Fatalf("remount %s: %v", dir, err)
	}
}

// Unmount unmounts what Mount mounted, before the end of the test.
func Unmount(dir string) error {
	return patiently(func() error { return unix.Unmount(dir, 0) })
}

// patience is how long something may stay busy: the kernel closes the open files of a process and its rings a moment after its
// end.
const patience = time.Minute

// patiently repeats f as long as it returns EBUSY.
func patiently(f func() error) error {
	err := f()
	for end := time.Now().Add(patience); errors.Is(err, unix.EBUSY) && time.Now().Before(end); err = f() {
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
