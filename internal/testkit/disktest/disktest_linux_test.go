package disktest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
)

// TestDisks makes a disk of each kind, writes to it and checks the kernel's count. The end of the test removes the disk.
func TestDisks(t *testing.T) {
	for kind := range makers {
		for _, direct := range []bool{false, true} {
			var device, dir string
			t.Run(kind, func(t *testing.T) {
				device, dir = Disk(t, Options{Kind: kind, Direct: direct})
				before := Count(t, device)
				f, err := os.Create(filepath.Join(dir, "f"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.Write(make([]byte, 1<<20))
				if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
					t.Fatal(err)
				}
				got := Count(t, device).Since(before)
				if got.BytesWritten < 1<<20 || got.Writes == 0 || got.Flushes == 0 {
					t.Errorf("the kernel counted %+v for 1 MiB that was written and synced", got)
				}
				if got.BytesRead > 1<<20 {
					t.Errorf("the kernel counted %d bytes read for 1 MiB that was written", got.BytesRead)
				}
			})
			if t.Failed() || dir == "" {
				return
			}
			if left := leaktest.Find(filepath.Dir(dir)); len(left) > 0 {
				t.Errorf("%s: left %v", kind, left)
			}
		}
	}
}

// TestEarlyEnd: if the test removed its disk itself, its end reports no error and removes no other program's loop device.
func TestEarlyEnd(t *testing.T) {
	other := Image(t, 1<<20)
	t.Run("early", func(inner *testing.T) {
		image := Image(inner, 1<<20)
		Loop(inner, image, false)
		dir := Tmpfs(inner, "size=1m")
		if err := Unmount(dir); err != nil {
			inner.Fatal(err)
		}
		if err := Unmount(dir); err != unix.EINVAL {
			inner.Errorf("Unmount twice: %v, want EINVAL", err)
		}
		Detach(inner, image)
		Detach(inner, image)
		Loop(t, other, false) // The kernel assigns the lowest free number: the same.
	})
	if loopOf(t, other) == "" {
		t.Error("the other's loop device was taken away")
	}
}

func TestSpoil(t *testing.T) {
	dir := Tmpfs(t, "size=100k")
	Fill(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 4096), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("write to what Fill has filled: %v", err)
	}
	Remount(t, dir, unix.MS_RDONLY)
	if err := os.Remove(filepath.Join(dir, "filler")); !errors.Is(err, unix.EROFS) {
		t.Errorf("remove on a read-only mount: %v", err)
	}
	for _, kind := range []string{"ext4", "xfs"} {
		_, disk := Disk(t, Options{Kind: kind})
		if err := Shutdown(disk); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Create(filepath.Join(disk, "f")); !errors.Is(err, unix.EIO) {
			t.Errorf("create on %s that was shut down: %v", kind, err)
		}
	}
}

func TestOverlay(t *testing.T) {
	on := t.TempDir()
	merged := Overlay(t, on)
	if err := os.WriteFile(filepath.Join(merged, "f"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(on, "upper", "f")); err != nil || !bytes.Equal(got, []byte("data")) {
		t.Errorf("the upper folder holds %q, %v", got, err)
	}
}

// TestGroupLimits: a group limits a process to its rate, by the kernel's count.
func TestGroupLimits(t *testing.T) {
	g := NewBlkioGroup(t)
	device := Loop(t, Image(t, 1<<20), true)
	if err := g.Put("blkio.throttle.read_iops_device", Number(t, device)+" 50"); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	if err := g.Add(sleeper.Process.Pid); err != nil {
		t.Fatal(err)
	}
	limit, err := os.ReadFile(filepath.Join(string(g), "blkio.throttle.read_iops_device"))
	if want := Number(t, device) + " 50\n"; err != nil || string(limit) != want {
		t.Errorf("the group's limit is %q, %v, want %q", limit, err, want)
	}
	where, err := os.ReadFile(filepath.Join("/proc", "self", "cgroup"))
	if err != nil || bytes.Contains(where, []byte(filepath.Base(string(g)))) {
		t.Errorf("the test itself is in the group: %s, %v", where, err)
	}
}
