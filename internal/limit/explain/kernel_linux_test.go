package explain

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/disktest"
)

// The kernel's own word: a process in a group of its own writes in each mode, and what the kernel charged to
// the group is held against what reached the device, and both against the verdicts. No limit is measured, so
// no time matters.

// asWriter makes the test binary a writer: "mode path".
const asWriter = "PLIMSOLL_TEST_BE_WRITER"

// loopSize is that of the tests' loop devices, in bytes.
const loopSize = 320 << 20

// amount is how much each mode writes: much more than what file systems write about it.
const amount = 16 << 20

func TestMain(m *testing.M) {
	if what := os.Getenv(asWriter); what != "" {
		mode, path, _ := strings.Cut(what, " ")
		if err := write(mode, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// smallSync is BufferedSync in writes of 4 KiB with as much between them.
const smallSync = "small+fsync"

// write writes or reads a file, or a block device.
func write(mode, path string) error {
	flags := map[string]int{Read: unix.O_DIRECT, Direct: unix.O_DIRECT | unix.O_WRONLY | unix.O_CREAT, DSync: unix.O_DSYNC | unix.O_WRONLY | unix.O_CREAT}
	flag, ok := flags[mode]
	if !ok {
		flag = unix.O_WRONLY | unix.O_CREAT
	}
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return err
	}
	if mode == Read {
		// Some file systems take what the page cache has even with O_DIRECT.
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
	}
	// Direct I/O wants the memory aligned; what is written is not to be compressed away.
	buf := make([]byte, 1<<20+4096)
	shift := int(4096 - uintptr(unsafe.Pointer(&buf[0]))%4096)
	buf = buf[shift : shift+1<<20]
	random, err := os.Open("/dev/urandom")
	if err != nil {
		return err
	}
	defer random.Close()
	if mode == smallSync {
		if _, err := io.ReadFull(random, buf[:4096]); err != nil {
			return err
		}
		for at := int64(0); at < amount; at += 8192 {
			if _, err := f.WriteAt(buf[:4096], at); err != nil {
				return err
			}
		}
		return errors.Join(f.Sync(), f.Close())
	}
	for range amount >> 20 {
		if mode == Read {
			_, err = io.ReadFull(f, buf)
		} else if _, err = io.ReadFull(random, buf); err == nil {
			_, err = f.Write(buf)
		}
		if err != nil {
			return err
		}
	}
	if mode == BufferedSync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return f.Close()
}

// A meter reads what the kernel charged to a group of the test's own.
type meter struct {
	group   disktest.Group
	version int
}

// newMeter makes the group. With version 2 it takes the I/O and the memory controller, which the group above has to
// hand on: a test doesn't give itself what the machine's owner hasn't given.
func newMeter(t *testing.T) *meter {
	t.Helper()
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root(hierarchy.IO)
	if err != nil {
		t.Skipf("needs an I/O controller: %v", err)
	}
	if !root.ForChildren() {
		t.Skip("needs a group that hands on the io controller")
	}
	return &meter{disktest.NewGroup(t, root.Dir), root.Version}
}

// counts has the kernel count on a device of the test's own: in version 1 it does so since Linux 6.10 only where there is
// a limit, so a very high one is set.
func (m *meter) counts(t *testing.T, d *device.Device) {
	t.Helper()
	if m.version == 2 {
		return
	}
	for _, file := range []string{"read", "write"} {
		if err := m.group.Put("blkio.throttle."+file+"_bps_device", fmt.Sprintf("%s %d", d.Number, int64(1)<<40)); err != nil {
			t.Fatal(err)
		}
	}
}

// charged is how many bytes the group has read from and written to a device.
func (m *meter) charged(t *testing.T, d *device.Device) (sum int64) {
	t.Helper()
	file := "blkio.throttle.io_service_bytes"
	if m.version == 2 {
		file = "io.stat"
	}
	for line := range strings.Lines(device.Text(string(m.group), file)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != d.Number.String() {
			continue
		}
		var values []string
		switch {
		case m.version == 1 && (f[1] == "Read" || f[1] == "Write"):
			values = f[2:3]
		case m.version == 2:
			for _, v := range f[1:] {
				if key, value, _ := strings.Cut(v, "="); key == "rbytes" || key == "wbytes" {
					values = append(values, value)
				}
			}
		}
		for _, v := range values {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatalf("%s: %q", file, line)
			}
			sum += n
		}
	}
	return sum
}

// reached is how many bytes went to or came from a device in all.
func reached(t *testing.T, d *device.Device) int64 {
	t.Helper()
	c := disktest.Count(t, d.Name)
	return c.BytesRead + c.BytesWritten
}

// run has a process of the group do its mode on a path, and writes out what is left, from outside the
// group. It returns for each device which part of what reached it was charged: NaN where nothing did.
func (m *meter) run(t *testing.T, mode, path string, tree *Layer, devices ...*device.Device) []float64 {
	t.Helper()
	settle(t, tree)
	before := make([][2]int64, len(devices))
	for i, d := range devices {
		before[i] = [2]int64{m.charged(t, d), reached(t, d)}
	}
	c := exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" && exec "$2"`, "sh", string(m.group), os.Args[0])
	c.Env = append(os.Environ(), asWriter+"="+mode+" "+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", mode, path, err, out)
	}
	settle(t, tree)
	var parts []float64
	for i, d := range devices {
		all := reached(t, d) - before[i][1]
		if i == 0 && all < amount/2 {
			t.Errorf("%s %s: only %d bytes reached %s", mode, path, all, d.Name)
		}
		parts = append(parts, float64(m.charged(t, d)-before[i][0])/float64(all))
	}
	return parts
}

// settle writes out what is left in the page cache of the layers, from the top to the bottom: what
// one writes out, the next has in its page cache.
func settle(t *testing.T, l *Layer) {
	t.Helper()
	name := l.File
	switch {
	case l.Kind == device.KindMount && l.Mount.FSType == device.RawBlock:
		name = l.Mount.Point
	case l.Kind == device.KindMount && l.Role != device.RoleFile:
		name = l.Mount.Point
	}
	if name != "" {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = unix.Fsync(int(f.Fd()))
		if l.Kind == device.KindMount && l.Mount.FSType != device.RawBlock {
			err = unix.Syncfs(int(f.Fd()))
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, b := range l.Below {
		settle(t, b)
	}
}

// agrees holds the part that was charged against a verdict.
func agrees(v Verdict, part float64) bool {
	switch v {
	case Covered, Late:
		return part > 0.9
	case Leaks:
		return part < 0.15
	}
	return part > 0.15 && part < 0.95
}

// checkModes does every mode of a path and holds the outcome against its explanation.
func (m *meter) checkModes(t *testing.T, path string) *Explanation {
	t.Helper()
	h, err := Look(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	e, err := h.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Possible || len(e.Modes) != 5 {
		t.Fatalf("%s: %+v, want five modes that can be limited", path, e)
	}
	var devices []*device.Device
	for _, d := range e.disks(true) {
		m.counts(t, d)
		devices = append(devices, d)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range e.Modes {
		// With version 2 a file belongs to the group that first wrote to it: each mode has its own.
		file := path
		if st.IsDir() {
			file = filepath.Join(path, mode.Name)
		}
		if mode.Name == Read {
			if err := write(BufferedSync, file); err != nil {
				t.Fatal(err)
			}
		}
		for i, part := range m.run(t, mode.Name, file, e.Tree, devices...) {
			// A device is written to by its owner first, and changes hands when another group does most of it.
			for n := 0; n < 20 && !st.IsDir() && m.version == 2 && !agrees(mode.Group, part); n++ {
				part = m.run(t, mode.Name, file, e.Tree, devices[i])[0]
			}
			btrfs := e.Tree.Kind == device.KindMount && e.Tree.Mount.FSType == "btrfs"
			if btrfs && mode.Name == BufferedSync && mode.Group == Partly {
				continue // It depends on the size of the writes: TestEarlyOnKernel.
			}
			if !agrees(mode.Group, part) {
				t.Errorf("%s, %s: %.2f of what reached %s was charged to the group, but the verdict is %s (%s)", path, mode.Name, part, devices[i].Name, mode.Group, mode.Why)
			}
		}
	}
	return e
}

// TestKernelModes holds the verdicts for file systems and block devices against the kernel that
// this runs on.
func TestKernelModes(t *testing.T) {
	for _, tt := range []struct{ name, kind, options string }{
		{"ext4", "ext4", ""},
		{"ext4 with its data in the journal", "ext4", "data=journal"},
		{"xfs", "xfs", ""},
		{"btrfs", "btrfs", ""},
		{"compressed btrfs", "btrfs", "compress-force=zstd"},
		{"block device", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMeter(t)
			if tt.kind == "" {
				disk := disktest.Loop(t, disktest.Image(t, loopSize), true)
				// Whoever closes a block device last writes out what is left, and is charged for it.
				f, err := os.Open(disk)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				m.checkModes(t, disk)
				return
			}
			_, dir := disktest.Disk(t, disktest.Options{Kind: tt.kind, Size: loopSize, Direct: true, Mount: tt.options})
			m.checkModes(t, dir)
		})
	}
}

// TestLoopAtTheBottom: a loop device whose file is on no disk is what a weight goes on; with a disk below, that is.
func TestLoopAtTheBottom(t *testing.T) {
	h, err := Look(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	memory := disktest.Loop(t, disktest.ImageIn(t, disktest.Tmpfs(t, "size=1m"), 1<<20), false)
	e, err := h.Path(memory)
	if err != nil {
		t.Fatal(err)
	}
	if h.IO == 0 {
		t.Skip("needs an I/O controller")
	}
	if len(e.Weights) != 1 || e.Weights[0].Name != filepath.Base(memory) || e.Weights[0].Charge != Covered {
		t.Errorf("in memory: weights on %+v, want %s", e.Weights, memory)
	}
	_, on := disktest.Disk(t, disktest.Options{Memory: true})
	upper := disktest.Loop(t, disktest.ImageIn(t, on, 1<<20), false)
	if e, err = h.Path(upper); err != nil {
		t.Fatal(err)
	}
	for _, w := range e.Weights {
		if w.Name == filepath.Base(upper) {
			t.Errorf("on a disk: weights on %+v", e.Weights)
		}
	}
	if len(e.Weights) != 1 {
		t.Errorf("on a disk: weights on %+v", e.Weights)
	}
}
