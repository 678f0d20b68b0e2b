package vm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// opensDirectly reports whether a process has a file open past the page cache (proc(5), fdinfo).
func opensDirectly(t *testing.T, pid int, path string) bool {
	t.Helper()
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err != nil || to != path {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(fd)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if text, ok := strings.CutPrefix(line, "flags:"); ok {
				flags, err := strconv.ParseInt(strings.TrimSpace(text), 8, 64)
				if err != nil {
					t.Fatal(err)
				}
				return flags&unix.O_DIRECT != 0
			}
		}
	}
	t.Fatalf("process %d has not opened %s", pid, path)
	return false
}

// TestVMDisk: the format and the cache mode of a machine's disk are what the record says: by what qemu-img finds in the file, by whether QEMU passes
// the page cache, and by whether each write, or each flush of the guest's, reaches the device under it.
func TestVMDisk(t *testing.T) {
	needVM(t)
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is needed: scripts/setup guest")
	}
	loop, dir := disktest.Disk(t, disktest.Options{Size: 512 << 20})
	const writes = 64
	for _, tt := range []struct {
		format, cache   string
		sync            bool // The guest flushes after each write.
		direct, flushes bool
	}{
		{"raw", "none", false, true, false},
		{"raw", "directsync", false, true, true},
		{"qcow2", "writeback", false, false, false},
		{"qcow2", "writethrough", false, false, true},
		{"raw", "writeback", true, false, true},
		{"qcow2", "unsafe", true, false, false},
	} {
		name := tt.format + "-" + tt.cache + map[bool]string{true: "-sync"}[tt.sync]
		t.Run(name, func(t *testing.T) {
			o := testOptions(t, dir)
			o.DiskFormat, o.DiskCache, o.DiskSize = tt.format, tt.cache, 64<<20
			a := openVM(t, vm.New(o), "disk-"+name, layerSpec(""))
			defer func() {
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			info := a.Info()
			if want := "virtio-blk, " + tt.format + ", cache=" + tt.cache; info.Storage != want {
				t.Errorf("Storage = %q, want %q", info.Storage, want)
			}
			said, err := exec.Command("qemu-img", "info", "-U", info.HostPath).CombinedOutput()
			if err != nil || !strings.Contains(string(said), "file format: "+tt.format+"\n") || !strings.Contains(string(said), "(67108864 bytes)") {
				t.Errorf("qemu-img says %v:\n%s", err, said)
			}
			if got := opensDirectly(t, info.PID, info.HostPath); got != tt.direct {
				t.Errorf("QEMU opens the disk directly: %v, want %v", got, tt.direct)
			}
			job := load.Job{RW: load.RandWrite, BS: 4 << 10, Size: 4 << 20, NumberIOs: writes, Direct: true, IOEngine: load.PSync}
			if tt.sync {
				job.Fsync = 1
			}
			var before disktest.Counters
			measureFrom(t, a, "1", job, func() { before = disktest.Count(t, loop) })
			flushes := disktest.Count(t, loop).Since(before).Flushes
			// The state folder's own file system flushes now and then.
			if got := flushes >= writes/2; got != tt.flushes {
				t.Errorf("%d flushes of %d writes reached the device, want as many: %v", flushes, writes, tt.flushes)
			}
		})
	}
}
