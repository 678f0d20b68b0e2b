package disktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
)

// Options describe a disk.
type Options struct {
	// Kind is the file system: "ext4", the default, "xfs" or "btrfs".
	Kind string
	// Size in bytes; 0: a little more than the minimum of the kind. Space is only allocated when it is written to.
	Size int64
	// Direct makes the loop device read and write its file with direct I/O. Otherwise it uses the page cache of the file.
	Direct bool
	// Mount holds options of the file system for mount(8).
	Mount string
	// Memory keeps the image in memory: the disk's speed does not depend on the machine's disk.
	Memory bool
}

// A maker makes a file system.
type maker struct {
	argv []string
	// least is the default size in bytes.
	least int64
}

var makers = map[string]maker{
	// Lazy initialisation would write in the background later.
	"ext4": {[]string{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}, 64 << 20},
	// mkfs.xfs refuses less than 300 MiB since xfsprogs 5.19, mkfs.btrfs less than 109 MiB.
	"xfs":   {[]string{"mkfs.xfs", "-q", "-f"}, 320 << 20},
	"btrfs": {[]string{"mkfs.btrfs", "-q", "-f"}, 128 << 20},
}

// Disk makes a file system on a loop device of the test's own and mounts it on dir.
func Disk(t testing.TB, o Options) (device, dir string) {
	t.Helper()
	if o.Kind == "" {
		o.Kind = "ext4"
	}
	if o.Size == 0 {
		o.Size = makers[o.Kind].least
	}
	image := ""
	if o.Memory {
		image = ImageIn(t, Mount(t, "tmpfs", "tmpfs", 0, ""), o.Size)
	} else {
		image = Image(t, o.Size)
	}
	device = Loop(t, image, o.Direct)
	Format(t, device, o.Kind)
	return device, Mount(t, device, o.Kind, 0, o.Mount)
}

// Format makes a file system of a kind on a device or in a file. more are further arguments of the program, such as a second device.
func Format(t testing.TB, path, kind string, more ...string) {
	t.Helper()
	argv := append(slices.Clone(makers[kind].argv), more...)
	Run(t, append(argv, path)...)
}

// Image makes a sparse file of this many bytes, without data, in a new folder.
func Image(t testing.TB, size int64) string {
	t.Helper()
	return ImageIn(t, t.TempDir(), size)
}

// ImageIn is Image in an existing folder.
func ImageIn(t testing.TB, dir string, size int64) string {
	t.Helper()
	return ImageNamed(t, dir, "image", size)
}

// ImageNamed is ImageIn with a name, for several images in one folder.
func ImageNamed(t testing.TB, dir, name string, size int64) string {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return path
}

// Loop makes a loop device over a file and returns its path. The device is detached at the end of the test, unless the test
// has done so. With direct, it bypasses the page cache of the file. Its scheduler is none, the default of new loop devices,
// even if an earlier user left another one on it. later are files for Reattach: their devices are detached as well, and the
// device is read-only, because the kernel only changes the file of a read-only device.
func Loop(t testing.TB, image string, direct bool, later ...string) string {
	t.Helper()
	needRoot(t, "makes a loop device")
	leaktest.Check(t, image)
	noteLoop(t, image)
	mode := "--direct-io=off"
	if direct {
		mode = "--direct-io=on"
	}
	argv := []string{mode, "--find", "--show", image}
	if len(later) > 0 {
		argv = append([]string{"--read-only"}, argv...)
	}
	out, err := exec.Command("losetup", argv...).CombinedOutput()
	if err != nil {
		t.Skipf("needs a loop device: losetup: %v: %s", err, out)
	}
	t.Cleanup(func() {
		t.Helper()
		for _, i := range append([]string{image}, later...) {
			Detach(t, i)
		}
	})
	device := strings.TrimSpace(string(out))
	reschedule(t, device, unscheduled)
	return device
}

// loopChangeFD is LOOP_CHANGE_FD (linux/loop.h), which golang.org/x/sys doesn't have.
const loopChangeFD = 0x4C06

// Reattach replaces a loop device's file by another of the same size, which must be one of Loop's later. The result is another
// device with the same number, and the data that the kernel keeps for the number stays. If the device were detached first,
// another program's file could get its number meanwhile.
func Reattach(t testing.TB, device, image string) {
	t.Helper()
	d, err := os.Open(device)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.IoctlSetInt(int(d.Fd()), loopChangeFD, int(f.Fd())); err != nil {
		t.Fatalf("give %s the file %s: %v", device, image, err)
	}
}

// Detach removes the loop device of a file before the end of the test, and waits until it is gone: the kernel keeps it while a
// process has it open. If the file has no loop device, Detach does nothing.
func Detach(t testing.TB, image string) {
	t.Helper()
	device := loopOf(t, image)
	if device == "" {
		return
	}
	unlimit(t, device)
	// The device is looked up once: after the removal another program's file may have its number.
	Run(t, "losetup", "--detach", device)
	for end := time.Now().Add(patience); loopOf(t, image) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s stays on %s", device, image)
			return
		}
	}
}

// unlimit removes the limits of version 1's root group for a device that will be detached, and fails the test if there are any: the
// kernel keeps them for the number's next user.
func unlimit(t testing.TB, device string) {
	t.Helper()
	for file, line := range rootLimits(Number(t, device)) {
		t.Errorf("left behind: %s has %q for %s", file, line, device)
		if err := removeRootLimit(file, line); err != nil {
			t.Error(err)
		}
	}
}

// rootLimits returns the limits of version 1's root group for a device, by their files.
func rootLimits(number string) map[string]string {
	found := map[string]string{}
	files, _ := filepath.Glob("/sys/fs/cgroup/blkio/blkio.throttle.*_device")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, number+" ") {
				found[file] = strings.TrimSpace(line)
			}
		}
	}
	return found
}

// removeRootLimit removes one of rootLimits.
func removeRootLimit(file, line string) error {
	number, _, _ := strings.Cut(line, " ")
	return os.WriteFile(file, []byte(number+" 0"), 0)
}

// loopOf returns the loop device of a file, "" if it has none.
func loopOf(t testing.TB, image string) string {
	t.Helper()
	return Run(t, "losetup", "--noheadings", "--output", "NAME", "--associated", image)
}

// Run runs a program of the system and returns its output. It skips the test if there is no such program.
func Run(t testing.TB, argv ...string) string {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skip("needs " + argv[0])
	}
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
