package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// vanishing is a lab with a disk and a group of version 1, in which others come and go.
func vanishing(t *testing.T) (l *lab, dir string) {
	t.Helper()
	if l = newLab(t, hierarchy.IO); l == nil {
		t.Skip("needs the io controller")
	}
	g, err := l.own.Group(hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	if g.Version != 1 {
		t.Skip("needs version 1: version 2 holds groups by the one above")
	}
	l.loop()
	return l, g.Dir
}

// TestVanishing: groups that a container makes and removes meanwhile are passed over, whether its limits are set, read or cleared.
// Their files said "no such device", which ended each of these now and then.
func TestVanishing(t *testing.T) {
	l, dir := vanishing(t)
	for _, name := range []string{"x", "y"} {
		// With a pause: what comes without end is another matter (TestV1Unsettled).
		defer disktest.Group(dir).Churn(t, name, 20*time.Microsecond, 200*time.Microsecond)()
	}
	rates := limit.Limits{ReadBPS: 2 * mib, WriteBPS: 2 * mib, ReadIOPS: 200, WriteIOPS: 200}
	unsettled := 0
	const times = 1500
	for range times {
		_, err := l.host.Hold(l.own.Target, Want{Change: limit.Change{Set: rates}, Devices: []device.Number{l.num}})
		if errors.Is(err, ErrUnsettled) {
			unsettled++
		} else if err != nil {
			t.Fatalf("Hold() = %v", err)
		}
		s, err := l.host.Read(l.own.Target)
		if err != nil || len(s) == 0 {
			t.Fatalf("Read() = %v, %v", s, err)
		}
		if _, err := l.host.Hold(l.own.Target, Want{Change: limit.Clear()}); err != nil && !errors.Is(err, ErrUnsettled) {
			t.Fatalf("Hold() of nothing = %v", err)
		}
	}
	t.Logf("%d of %d times groups were made faster than written", unsettled, times)
}

// TestVanished tells ENODEV of a group that was removed, also where another has its name by now, from that of a disk that isn't there.
func TestVanished(t *testing.T) {
	l, dir := vanishing(t)
	const name = "blkio.throttle.write_bps_device"
	below := filepath.Join(dir, "below")
	file := filepath.Join(below, name)
	fd := func() int {
		t.Helper()
		if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		fd, err := open(file, unix.O_WRONLY)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	none := "4095:1048575 1048576"
	living := fd()
	if _, err := unix.Write(living, []byte(none)); err != unix.ENODEV || removed(living, file) {
		t.Errorf("a disk that isn't there: %v, the group is called gone", err)
	}
	err := l.host.io.write(file, none)
	if !errors.Is(err, syscall.ENODEV) || errors.Is(err, ErrGone) {
		t.Errorf("write of a disk that isn't there = %v", err)
	}
	for _, again := range []bool{false, true} {
		fd := fd()
		if err := os.Remove(below); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(below)
		}
		if _, err := unix.Write(fd, []byte(l.num.String()+" 1048576")); err != unix.ENODEV || !removed(fd, file) {
			t.Errorf("made again %v: %v, the group isn't called gone", again, err)
		}
	}
}

// TestVanishedTop: where it is the target's own group, that is its end, and not the disk's.
func TestVanishedTop(t *testing.T) {
	for _, of := range []string{"/c", "/c/below"} {
		f := newFake(t, 1, "/c", "/c/below")
		// The folder is seen for a moment longer; where a group is listed for ever, it is made for ever.
		dying := &dyingFiles{files: f.host.io, dir: filepath.Join(f.root, "cg/blkio", of) + "/blkio."}
		host := *f.host
		host.io = dying
		want := Want{Change: limit.Change{Set: limit.Limits{WriteBPS: 100}}, Devices: []device.Number{vda}}
		for _, dying.reads = range []bool{true, false} {
			_, held := host.Hold(f.target("/c"), want)
			_, read := host.Read(f.target("/c"))
			if !dying.reads {
				read = held
			}
			for _, err := range []error{held, read} {
				if top := of == "/c"; errors.Is(err, ErrGone) != top || (err != nil) != top {
					t.Errorf("%s is gone, reads %v: %v, want ErrGone %v", of, dying.reads, err, top)
				}
				if err != nil && strings.Contains(err.Error(), "no such device") {
					t.Errorf("%s is gone, reads %v: %v", of, dying.reads, err)
				}
			}
		}
	}
}

// dyingFiles are control files; those of one group have vanished, for reads or for writes.
type dyingFiles struct {
	files
	dir   string
	reads bool
}

func (d *dyingFiles) read(path string, buf []byte) ([]byte, error) {
	if d.reads && strings.HasPrefix(path, d.dir) {
		return nil, vanished{"read", path}
	}
	return d.files.read(path, buf)
}

func (d *dyingFiles) write(path, text string) error {
	if !d.reads && strings.HasPrefix(path, d.dir) {
		if filepath.Base(filepath.Dir(path)) == "below" {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		return vanished{"write", path}
	}
	return d.files.write(path, text)
}
