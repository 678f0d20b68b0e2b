package quota

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// TestQuota: a folder is full at its limit, not before, on xfs and on ext4; the limit can be raised, and the space of removed files
// returns. It needs a kernel with project quotas, such as the guest's.
func TestQuota(t *testing.T) {
	for _, fs := range []struct {
		kind string
		make []string
		full error
	}{
		{"xfs", []string{"mkfs.xfs", "-q"}, unix.ENOSPC},
		{"ext4", []string{"mkfs.ext4", "-q", "-O", "quota,project"}, unix.EDQUOT},
	} {
		t.Run(fs.kind, func(t *testing.T) {
			disk := disktest.Loop(t, disktest.Image(t, 400<<20), true)
			disktest.Run(t, append(fs.make, disk)...)
			where := filepath.Join(t.TempDir(), "mount")
			if err := os.Mkdir(where, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount(disk, where, fs.kind, 0, "prjquota"); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOSYS) {
				t.Skipf("the kernel has no project quotas for %s: %v", fs.kind, err)
			} else if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(where, 0); err != nil {
					t.Error(err)
				}
			})
			checkQuota(t, where, fs.full)
		})
	}
}

func checkQuota(t *testing.T, where string, full error) {
	const limit = 20 << 20
	folder := filepath.Join(where, "volume")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	p, err := Free(dir, func(p Project) bool { return p == FirstProject })
	if err != nil || p != FirstProject+1 {
		t.Fatalf("Free = %d, %v", p, err)
	}
	if err := errors.Join(Assign(dir, p), Limit(dir, p, limit)); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(folder, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	n, err := fill(t, filepath.Join(below, "file"))
	if !errors.Is(err, full) || n < limit-(1<<20) || n > limit {
		t.Errorf("%d bytes of %d fit: %v", n, limit, err)
	}
	u, err := Get(dir, p)
	if err != nil || u.Limit != limit || u.Used < limit-(1<<20) || u.Used > limit {
		t.Errorf("Get = %+v, %v", u, err)
	}
	if err := os.WriteFile(filepath.Join(where, "beside"), make([]byte, 1<<20), 0o644); err != nil {
		t.Errorf("beside the folder: %v", err)
	}
	if err := Limit(dir, p, 2*limit); err != nil {
		t.Fatal(err)
	}
	if n, err := fill(t, filepath.Join(below, "more")); !errors.Is(err, full) || n < limit-(1<<20) {
		t.Errorf("after the limit was raised %d bytes more fit: %v", n, err)
	}
	if q, err := Free(dir, func(Project) bool { return false }); err != nil || q != FirstProject {
		t.Errorf("Free = %d, %v", q, err)
	}
	if got, err := Of(dir); err != nil || got != p {
		t.Errorf("Of = %d, %v, want %d", got, err, p)
	}
}

// fill writes to a file until that fails, as a container's root does, without the capability that ext4's quotas don't hold.
func fill(t *testing.T, path string) (n int64, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() { // Its thread ends with it, since it stays locked.
		defer close(done)
		runtime.LockOSThread()
		if err = dropResource(); err == nil {
			n, err = write(path)
		}
	}()
	<-done
	return n, err
}

// dropResource takes CAP_SYS_RESOURCE from this thread.
func dropResource() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	return unix.Capset(&header, &data[0])
}

// write writes to a file until that fails, or it has 200 MiB.
func write(path string) (n int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for n < 200<<20 {
		k, err := f.Write(block)
		n += int64(k)
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestNone: a file system without project quotas says so.
func TestNone(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := Limit(dir, FirstProject, 1<<20); !errors.Is(err, ErrNone) {
		t.Errorf("Limit = %v", err)
	}
}
