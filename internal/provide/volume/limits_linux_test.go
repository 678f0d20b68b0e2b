package volume

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

// A diskLab is volumes of the test's own, on a file system in memory.
type diskLab struct {
	*Volumes
	t testing.TB
	// dir is the file system, and disk its device.
	dir, disk string
}

// newLab makes a lab. Its volumes are unmounted at the end of the test.
func newLab(t testing.TB, options disktest.Options) *diskLab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	options.Memory = true
	disk, dir := disktest.Disk(t, options)
	l := &diskLab{t: t, dir: dir, disk: disk}
	l.Volumes = l.again()
	t.Cleanup(func() {
		list, err := l.List()
		if err != nil {
			t.Error(err)
		}
		for _, v := range list {
			if err := l.Unmount(context.WithoutCancel(t.Context()), v.Name, ByHand); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

// again returns the volumes as another process sees them.
func (l *diskLab) again() *Volumes {
	s := New(filepath.Join(l.dir, "state"))
	s.Records = filepath.Join(l.dir, "machine")
	return s
}

// mounted makes a volume and mounts it. It returns the root of its data, and its device.
func (l *diskLab) mounted(name string, options map[string]string) (root, node string) {
	l.t.Helper()
	backend, p, err := l.Options(options)
	if err == nil {
		_, _, err = l.Create(l.t.Context(), name, backend, p)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return l.mount(name)
}

func (l *diskLab) mount(name string) (root, node string) {
	l.t.Helper()
	m, err := l.Mount(l.t.Context(), name, ByHand)
	if err != nil {
		l.t.Fatal(err)
	}
	return m.Root, l.node(name)
}

// node is the device of a mounted volume.
func (l *diskLab) node(name string) string {
	l.t.Helper()
	v, err := l.Get(name)
	if err != nil {
		l.t.Fatal(err)
	}
	mounts, err := device.Host().Mounts()
	if err != nil {
		l.t.Fatal(err)
	}
	i := slices.IndexFunc(mounts, func(m device.Mount) bool { return m.Point == v.target() })
	if i < 0 {
		l.t.Fatalf("volume %s is not mounted", name)
	}
	return mounts[i].Source
}

// has returns what any group has for a device.
func (l *diskLab) has(node string) limit.Limits {
	l.t.Helper()
	limits, err := l.devices()
	if err != nil {
		l.t.Fatal(err)
	}
	n, err := device.ParseNumber(disktest.NodeNumber(l.t, node))
	if err != nil {
		l.t.Fatal(err)
	}
	has, err := limits.Anywhere(n)
	if err != nil {
		l.t.Fatal(err)
	}
	return has
}

// records are the recorded limits of volumes.
func (l *diskLab) records() []hold.DeviceLimit {
	l.t.Helper()
	limits, err := l.devices()
	if err != nil {
		l.t.Fatal(err)
	}
	list, err := limits.Volumes()
	if err != nil {
		l.t.Fatal(err)
	}
	return list
}

// container is a group of the test's own, as a container has one.
func container(t testing.TB) disktest.Group {
	t.Helper()
	tree, err := hierarchy.Read(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.Root(hierarchy.IO)
	if err != nil {
		t.Skipf("needs the io controller: %v", err)
	}
	if root.Version == 2 && !root.ForChildren() {
		if err := os.WriteFile(filepath.Join(root.Dir, "cgroup.subtree_control"), []byte("+io"), 0); err != nil {
			t.Skipf("needs the io controller in groups: %v", err)
		}
	}
	return disktest.NewGroup(t, root.Dir)
}

// TestLimitsHold: a volume's maximum holds each way of writing of a container, with either version of control groups.
func TestLimitsHold(t *testing.T) {
	const rate, size = 8 << 20, 6 << 20
	for _, kind := range []string{"ext4", "xfs", "btrfs", "ext4 encrypted", "btrfs encrypted"} {
		t.Run(kind, func(t *testing.T) {
			l := newLab(t, disktest.Options{Size: 700 << 20})
			kind, encrypted := strings.CutSuffix(kind, " encrypted")
			options := map[string]string{"capacity": "320MiB", "filesystem": kind, "bandwidth.max": strconv.Itoa(rate) + "B/s"}
			if encrypted {
				if err := l.Machine.Encryption(); err != nil {
					t.Skipf("needs dm-crypt: %v", err)
				}
				options["encryption.enabled"], options["encryption.key_file"] = "yes", filepath.Join(t.TempDir(), "key")
				must(t, os.WriteFile(options["encryption.key_file"], []byte("a secret key of 32 random bytes!"), 0o600))
			}
			root, node := l.mounted("db", options)
			g := container(t)
			g.RunApart(t, "sleep", "1000")
			if _, err := l.HoldLimits(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if has := l.has(node); has.WriteBPS != rate || has.ReadBPS != rate {
				t.Fatalf("%s has %q, want %d bytes/s", node, has, rate)
			}
			for name, line := range map[string]string{
				"direct":             "/usr/bin/dd if=/dev/zero of=%s bs=256k count=%d oflag=direct",
				"O_DSYNC":            "/usr/bin/dd if=/dev/zero of=%s bs=256k count=%d oflag=dsync",
				"buffered and fsync": "/usr/bin/dd if=/dev/zero of=%s bs=256k count=%d conv=fsync",
				"buffered":           "/usr/bin/dd if=/dev/zero of=%s bs=256k count=%d; /usr/bin/sync -f %[1]s",
			} {
				began := time.Now()
				cmd := g.RunApart(t, "sh", "-c", fmt.Sprintf(line, filepath.Join(root, strings.ReplaceAll(name, " ", "-")), size>>18))
				if err := cmd.Wait(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				// A slow machine takes longer. The kernel may let a slice more pass at the beginning.
				if took, least := time.Since(began), time.Duration(0.75*size/rate*float64(time.Second)); took < least {
					t.Errorf("%s: %d MiB took %v, want %v at least", name, size>>20, took, least)
				}
			}
		})
	}
}

// TestLimitsLife: the limits come with the mount, change with the volume, and go with the unmount.
func TestLimitsLife(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	g := container(t)
	g.Run(t, "sleep", "1000")
	_, node := l.mounted("db", map[string]string{"capacity": "32MiB", "iops.max": "500"})
	other, otherNode := l.mounted("log", map[string]string{"capacity": "32MiB"})
	if has, want := l.has(node), (limit.Limits{ReadIOPS: 500, WriteIOPS: 500}); has != want {
		t.Errorf("mounted: %q, want %q", has, want)
	}
	if has := l.has(otherNode); !has.IsZero() || other == "" {
		t.Errorf("the volume without limits has %q", has)
	}
	if _, err := l.Update(t.Context(), "db", map[string]string{"iops.max": "2000", "bandwidth.max": "50MB"}); err != nil {
		t.Fatal(err)
	}
	if has, want := l.has(node), (limit.Limits{ReadIOPS: 2000, WriteIOPS: 2000, ReadBPS: 50e6, WriteBPS: 50e6}); has != want {
		t.Errorf("changed: %q, want %q", has, want)
	}
	if _, err := l.Update(t.Context(), "db", map[string]string{"iops.max": "none"}); err != nil {
		t.Fatal(err)
	}
	if has, want := l.has(node), (limit.Limits{ReadBPS: 50e6, WriteBPS: 50e6}); has != want {
		t.Errorf("without iops.max: %q, want %q", has, want)
	}
	// A volume that stays mounted keeps its limits.
	busy := exec.Command("sleep", "1000")
	v, err := l.Get("db")
	if err != nil {
		t.Fatal(err)
	}
	busy.Dir = v.target()
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	if err := l.Unmount(t.Context(), "db", ByHand); err == nil {
		t.Error("a used volume was unmounted")
	}
	if has := l.has(node); has.WriteBPS != 50e6 {
		t.Errorf("after a failed unmount: %q", has)
	}
	if err := busy.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = busy.Wait()
	if err := l.Unmount(t.Context(), "db", ByHand); err != nil {
		t.Fatal(err)
	}
	if has, left := l.has(node), l.records(); !has.IsZero() || len(left) != 0 {
		t.Errorf("unmounted: %q, records %v", has, left)
	}
}

// TestLieLoopNumber plants a loop device of somebody else under the number that a volume had: whatever took the volume away, it is
// never limited once Plimsoll has looked; and the volume is limited under its new number.
func TestLieLoopNumber(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	_, node := l.mounted("db", map[string]string{"capacity": "32MiB", "iops.max": "500"})
	v, err := l.Get("db")
	if err != nil {
		t.Fatal(err)
	}
	// The user unmounts it without Plimsoll, and the number goes to another file.
	disktest.Run(t, "umount", v.target())
	image := disktest.Image(t, 8<<20)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := exec.Command("losetup", node, image).Run(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Skipf("another program has taken %s", node)
		}
	}
	t.Cleanup(func() { disktest.Run(t, "losetup", "-d", node) })
	if l.has(node).IsZero() {
		t.Fatal("the lie is not planted: the number has no limit left")
	}
	done, err := l.again().HoldLimits(t.Context(), nil)
	if err != nil || len(done) == 0 {
		t.Errorf("HoldLimits = %q, %v", done, err)
	}
	if has, left := l.has(node), l.records(); !has.IsZero() || len(left) != 0 {
		t.Errorf("the other device has %q, the records are %v", has, left)
	}
	_, now := l.mount("db")
	if now == node {
		t.Fatalf("the volume is on %s, which another file has", now)
	}
	if has := l.has(now); has.WriteIOPS != 500 {
		t.Errorf("the volume's new device has %q, want 500", has)
	}
	if has := l.has(node); !has.IsZero() {
		t.Errorf("the other device has %q", has)
	}
}

// TestLieOtherOwner: a limit that somebody else has set on the volume's device for all, and a container's own stricter one, stay.
func TestLieOtherOwner(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	g := container(t)
	g.RunApart(t, "sleep", "1000")
	_, node := l.mounted("db", map[string]string{"capacity": "32MiB"})
	number := disktest.NodeNumber(t, node)
	file, text, want := "blkio.throttle.write_iops_device", number+" 100", number+" 100"
	if _, err := os.Stat(filepath.Join(string(g), "io.max")); err == nil {
		file, text, want = "io.max", number+" wiops=100", number+" rbps=max wbps=max riops=500 wiops=100"
	}
	if err := g.Put(file, text); err != nil {
		t.Fatal(err)
	}
	// The namespace was made before the mount; a process with the mount is what counts.
	g.RunApart(t, "sleep", "1000")
	if _, err := l.Update(t.Context(), "db", map[string]string{"iops.max": "500"}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(string(g), file)); err != nil || strings.TrimSpace(string(b)) != want {
		t.Errorf("the container's own limit is %q, %v, want %q", b, err, want)
	}
}
