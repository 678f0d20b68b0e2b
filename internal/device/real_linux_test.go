package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/disktest"
)

// loopSize is that of the tests' loop devices, in bytes.
const loopSize = 320 << 20

func TestOfRealLoop(t *testing.T) {
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			loop, point := disktest.Disk(t, disktest.Options{Kind: kind, Size: loopSize})
			checkLoop(t, filepath.Join(point, "not", "yet"), kind, loop)
			checkLoop(t, loop, "block", loop)

			// A bind of a folder in it, and an overlay with its upper folder there.
			up, work := filepath.Join(point, "up, 1"), filepath.Join(point, "w")
			for _, d := range []string{up, work} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			bound := disktest.Mount(t, up, "", unix.MS_BIND, "")
			checkLoop(t, bound, kind, loop)
			escaped := strings.ReplaceAll(up, ",", `\,`)
			merged := disktest.Mount(t, "overlay", "overlay", 0, "lowerdir="+t.TempDir()+",upperdir="+escaped+",workdir="+work)
			checkLoop(t, merged, "overlay", loop)
		})
	}
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
	if "/dev/"+s.Device.Name != loop || s.Device.Stack[0] != s.Device.Name || s.Device.Size != loopSize || s.Device.Model != "loop device, buffered" {
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
}
