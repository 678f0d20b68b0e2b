package disktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
)

// RelativeOverlay mounts an overlay on a new tmpfs, like mount(8) with relative names: t/u and so on. It returns the mount point of
// the overlay.
func RelativeOverlay(t testing.TB) string {
	t.Helper()
	needRoot(t, "mounts a file system")
	at := t.TempDir()
	memory := filepath.Join(at, "t")
	if err := os.Mkdir(memory, 0o755); err != nil {
		t.Fatal(err)
	}
	MountAt(t, "tmpfs", memory, "tmpfs", 0, "size=400m")
	for _, dir := range []string{"l", "u", "w", "o"} {
		if err := os.Mkdir(filepath.Join(memory, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	overlay := filepath.Join(memory, "o")
	leaktest.Check(t, overlay)
	noteMount(t, overlay)
	cmd := exec.Command("mount", "-t", "overlay", "o", "-o", "lowerdir=t/l,upperdir=t/u,workdir=t/w", "t/o")
	cmd.Dir = at
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if err := Unmount(overlay); err != nil {
			t.Errorf("unmount %s: %v", overlay, err)
		}
	})
	return overlay
}

// MemfdLoop makes a loop device over a file in memory that has no name (memfd_create(2)).
func MemfdLoop(t testing.TB, size int64) string {
	t.Helper()
	fd, err := unix.MemfdCreate("image", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	needRoot(t, "makes a loop device")
	cmd := exec.Command("losetup", "--find", "--show", "/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{f}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("losetup: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { Run(t, "losetup", "--detach", device) })
	return device
}

// ElsewhereLoop makes a loop device over a file on a tmpfs that only a process in another mount namespace has mounted, until the test ends.
func ElsewhereLoop(t testing.TB, size string) string {
	t.Helper()
	needRoot(t, "makes a mount namespace")
	script := `mount -t tmpfs tmpfs "$0" && truncate -s "$1" "$0/image" && losetup --find --show "$0/image" && exec cat`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", script, t.TempDir(), size)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, err := out.Read(buf)
	device := strings.TrimSpace(string(buf[:n]))
	t.Cleanup(func() {
		if device != "" {
			Run(t, "losetup", "--detach", device)
		}
		in.Close()
		cmd.Wait()
	})
	if err != nil {
		t.Fatal("unshare, mount or losetup: ", err)
	}
	return device
}

// DetachedLoop makes a loop device over a file on a tmpfs that isn't mounted any more.
func DetachedLoop(t testing.TB, size int64) string {
	t.Helper()
	memory := Tmpfs(t, "")
	device := Loop(t, ImageIn(t, memory, size), false)
	if err := unix.Unmount(memory, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	// Loop looks for the device by its file, which has no path any more.
	t.Cleanup(func() {
		t.Helper()
		unlimit(t, device)
		Run(t, "losetup", "--detach", device)
		for end := time.Now().Add(patience); backed(device); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s stays", device)
				return
			}
		}
	})
	return device
}

// backed reports whether a loop device has a file on a file system that isn't mounted any more: the kernel shows its name without
// the folder.
func backed(device string) bool {
	file, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
	return err == nil && strings.TrimSpace(string(file)) == "/image"
}
