package device

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// command runs a program of the system and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.Command(name, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// loopMount makes a file system of the given kind in a file, on a loop device,
// and mounts it. All of it goes at the end of the test.
func loopMount(t *testing.T, kind string, mkfs ...string) (loop, point string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts a loop device")
	}
	for _, tool := range []string{mkfs[0], "losetup"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	dir := t.TempDir()
	image, point := filepath.Join(dir, "image"), filepath.Join(dir, "point")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// xfs wants 300 MiB at least, btrfs about 110; the file is sparse.
	if err := os.Truncate(image, 320<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, mkfs[0], append(mkfs[1:], image)...)
	loop = command(t, "losetup", "--find", "--show", image)
	t.Cleanup(func() { command(t, "losetup", "--detach", loop) })
	if err := unix.Mount(loop, point, kind, 0, ""); err != nil {
		t.Skipf("needs %s in the kernel: mount: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, 0); err != nil {
			t.Errorf("unmount %s: %v", point, err)
		}
	})
	return loop, point
}

func TestOfRealLoop(t *testing.T) {
	for kind, mkfs := range map[string][]string{
		"ext4":  {"mkfs.ext4", "-q", "-F"},
		"xfs":   {"mkfs.xfs", "-q"},
		"btrfs": {"mkfs.btrfs", "-q"},
	} {
		t.Run(kind, func(t *testing.T) {
			loop, point := loopMount(t, kind, mkfs...)
			checkLoop(t, filepath.Join(point, "not", "yet"), kind, loop)
			checkLoop(t, loop, "block", loop)

			// A bind of a folder in it, and an overlay with its upper folder there.
			up, work, lower, merged, bound := filepath.Join(point, "up, 1"), filepath.Join(point, "w"), t.TempDir(), t.TempDir(), t.TempDir()
			for _, d := range []string{up, work} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			mount(t, up, bound, "", unix.MS_BIND, "")
			checkLoop(t, bound, kind, loop)
			escaped := strings.ReplaceAll(up, ",", `\,`)
			mount(t, "overlay", merged, "overlay", 0, "lowerdir="+lower+",upperdir="+escaped+",workdir="+work)
			checkLoop(t, merged, "overlay", loop)
		})
	}
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatalf("mount %s on %s: %v", source, target, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, 0); err != nil {
			t.Errorf("unmount %s: %v", target, err)
		}
	})
}

// checkLoop checks that path is found on the loop device, which stands on what holds the
// test's folder.
func checkLoop(t *testing.T, path, kind, loop string) {
	t.Helper()
	s, err := Host().Of(path)
	if err != nil {
		t.Fatalf("Of(%s): %v", path, err)
	}
	if s.Mount.FSType != kind || s.Device == nil {
		t.Fatalf("Of(%s) = %+v, want %s with a device", path, s, kind)
	}
	if "/dev/"+s.Device.Name != loop || s.Device.Stack[0] != s.Device.Name || s.Device.Size != 320<<20 || s.Device.Model != "loop device, buffered" {
		t.Errorf("Of(%s): device %+v, want %s of 320 MiB", path, s.Device, loop)
	}
	below, err := Host().Of(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if below.Device != nil && !slices.Contains(s.Device.Stack, below.Device.Name) {
		t.Errorf("Of(%s): stack %v, want %s in it", path, s.Device.Stack, below.Device.Name)
	}
}

func TestOfRealTmpfs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mounts tmpfs")
	}
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
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
}
