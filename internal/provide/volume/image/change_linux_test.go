package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/text/refusal"
)

// TestGrow grows mounted and unmounted images.
func TestGrow(t *testing.T) {
	for kind, n := range small {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			path := filepath.Join(backing(t, "tmpfs"), "image")
			must(t, Create(ctx, path, Spec{Filesystem: kind, Size: n}))
			must(t, Grow(ctx, path, n+128*mib, false, key.Source{})) // Before its first mount.
			grown(t, path, n+128*mib)
			m, target := mountedOn(t, path, MountOptions{})
			write(t, m.Root, "f", "kept")
			before, err := Usage(target)
			must(t, err)
			mounts := func(do func()) { do() }
			if !filesystem.MayGrow(kind) {
				if err := Grow(ctx, path, n+1<<30, false, key.Source{}); !errors.Is(err, refusal.ErrRefused) {
					t.Errorf("without the capability: %v", err)
				}
				mounts = func(do func()) { // Unmounted meanwhile.
					must(t, Unmount(ctx, target))
					do()
					_, err := Mount(ctx, path, target, MountOptions{})
					must(t, err)
				}
			}
			mounts(func() {
				must(t, Grow(ctx, path, n+1<<30, false, key.Source{}))
				must(t, Grow(ctx, path, n+1<<30, false, key.Source{}))
			})
			after, err := Usage(target)
			if err != nil || after.Size < before.Size+850*mib {
				t.Errorf("from %+v to %+v, %v", before, after, err)
			}
			has(t, m.Root, "f", "kept")
			mounts(func() { must(t, Grow(ctx, path, n+1<<30+64*mib, true, key.Source{})) })
			if err := Grow(ctx, path, n, false, key.Source{}); err == nil || !strings.Contains(err.Error(), "smaller") {
				t.Errorf("shrink: %v", err)
			}
			must(t, Unmount(ctx, target))
			must(t, Check(ctx, path, true, key.Source{}))
			grown(t, path, n+1<<30+64*mib)
		})
	}
}

// grown checks the size of an image and its file system.
func grown(t *testing.T, path string, n int64) {
	t.Helper()
	i, err := Describe(t.Context(), path)
	if err != nil || i.Size != n || i.FilesystemSize > n || i.FilesystemSize < n-16*mib {
		t.Errorf("it is %+v, %v; want %d", i, err, n)
	}
}

// TestSnapshot takes snapshots of a volume while a program appends to a file: each has all that was acknowledged before.
func TestSnapshot(t *testing.T) {
	for _, on := range []string{"xfs", "btrfs"} {
		for kind, n := range small {
			if on == "btrfs" && kind == filesystem.XFS {
				continue // The slowest, and nothing of its own.
			}
			t.Run(string(kind)+"_on_"+on, func(t *testing.T) {
				t.Parallel()
				dir := backing(t, on)
				path := filepath.Join(dir, "image")
				must(t, Create(t.Context(), path, Spec{Filesystem: kind, Size: n}))
				m, target := mountedOn(t, path, MountOptions{})
				snapshots(t, dir, path, m.Root, SnapshotOptions{})
				must(t, Unmount(t.Context(), target))
				must(t, Check(t.Context(), path, true, key.Source{}))
			})
		}
	}
	t.Run("copy", func(t *testing.T) {
		dir := backing(t, "tmpfs")
		path := filepath.Join(dir, "image")
		must(t, Create(t.Context(), path, Spec{Size: 64 * mib}))
		if err := Snapshot(t.Context(), path, filepath.Join(dir, "s"), SnapshotOptions{}); !errors.Is(err, refusal.ErrRefused) {
			t.Errorf("tmpfs: %v", err)
		}
		m, target := mountedOn(t, path, MountOptions{})
		snapshots(t, dir, path, m.Root, SnapshotOptions{Copy: true})
		must(t, Unmount(t.Context(), target))
	})
}

func snapshots(t *testing.T, dir, path, root string, o SnapshotOptions) {
	var acknowledged atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- appendTo(ctx, filepath.Join(root, "log"), &acknowledged) }()
	for i := range 2 {
		for start := acknowledged.Load(); acknowledged.Load() < start+3; {
			time.Sleep(time.Millisecond)
		}
		least := acknowledged.Load()
		snapshot, clone := filepath.Join(dir, fmt.Sprint("s", i)), filepath.Join(dir, fmt.Sprint("c", i))
		must(t, Snapshot(t.Context(), path, snapshot, o))
		must(t, Clone(t.Context(), snapshot, clone, o))
		m, target := mountedOn(t, clone, MountOptions{}) // Beside the original.
		b, err := os.ReadFile(filepath.Join(m.Root, "log"))
		must(t, err)
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		if int64(len(lines)) < least {
			t.Errorf("the snapshot has %d of %d lines", len(lines), least)
		}
		for i, l := range lines {
			if l != strconv.Itoa(i+1) {
				t.Fatalf("line %d is %q", i+1, l)
			}
		}
		must(t, Unmount(t.Context(), target))
	}
	must(t, Check(t.Context(), filepath.Join(dir, "c1"), true, key.Source{}))
	stop()
	must(t, <-done)
	a, err := Describe(t.Context(), filepath.Join(dir, "s0"))
	must(t, err)
	b, err := Describe(t.Context(), filepath.Join(dir, "c0"))
	if err != nil || a.UUID == b.UUID {
		t.Errorf("%v, %v; %v", a, b, err)
	}
	if err := Restore(t.Context(), filepath.Join(dir, "s0"), path, o); err == nil {
		t.Error("a mounted image was replaced")
	}
	must(t, Restore(t.Context(), filepath.Join(dir, "s1"), filepath.Join(dir, "restored"), o))
	if removed, err := Sweep(dir); err != nil || len(removed) > 0 {
		t.Errorf("left: %v, %v", removed, err)
	}
}

// appendTo appends numbers to a file, and counts those that are synced.
func appendTo(ctx context.Context, path string, n *atomic.Int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for ctx.Err() == nil {
		if _, err := fmt.Fprintln(f, n.Load()+1); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		n.Add(1)
	}
	return nil
}

// TestBusy: an unmount of a volume in use names the user.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(backing(t, "tmpfs"), "image")
	must(t, Create(t.Context(), path, Spec{Size: 64 * mib}))
	m, target := mountedOn(t, path, MountOptions{})
	c := exec.Command("sleep", "600")
	c.Dir = m.Root
	must(t, c.Start())
	busy := (*BusyError)(nil)
	err := Unmount(t.Context(), target)
	if want := fmt.Sprintf("sleep (process %d)", c.Process.Pid); !errors.As(err, &busy) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	must(t, c.Process.Kill())
	c.Wait()
	must(t, Unmount(t.Context(), target))
	// Another mount namespace that has the volume, and doesn't hear of the unmount.
	_, target = mountedOn(t, path, MountOptions{})
	c = exec.Command("unshare", "--mount", "--propagation", "private", "sleep", "600")
	must(t, c.Start())
	for {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.Process.Pid))
		if string(b) == "sleep\n" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if err := Unmount(ctx, target); !errors.As(err, &busy) || !busy.Unmounted || len(busy.Users) == 0 {
		t.Errorf("%v", err)
	}
	must(t, c.Process.Kill())
	c.Wait()
}

// freezing is what the life called frozen does.
func freezing(dir string) error {
	_, err := Freeze(filepath.Join(dir, "mnt"))
	if err != nil {
		return err
	}
	fmt.Println("frozen")
	time.Sleep(time.Minute)
	return nil
}

func changing(dir string) error {
	ctx := context.Background()
	path := filepath.Join(dir, "image")
	if err := Create(ctx, path, Spec{Size: 32 * mib, Thick: true}); err != nil {
		return err
	}
	fmt.Println("created")
	if err := Grow(ctx, path, 64*mib, true, key.Source{}); err != nil {
		return err
	}
	fmt.Println("grown")
	if err := Snapshot(ctx, path, filepath.Join(dir, "snapshot"), SnapshotOptions{Copy: true}); err != nil {
		return err
	}
	target := filepath.Join(dir, "mnt")
	if _, err := Mount(ctx, path, target, MountOptions{}); err != nil {
		return err
	}
	fmt.Println("mounted")
	if err := Snapshot(ctx, path, filepath.Join(dir, "mounted"), SnapshotOptions{Copy: true}); err != nil {
		return err
	}
	if err := Unmount(ctx, target); err != nil {
		return err
	}
	fmt.Println("unmounted")
	return Grow(ctx, path, 128*mib, false, key.Source{})
}

func init() {
	killtest.Life("frozen", freezing)
	killtest.Life("changing", changing)
}

// TestFrozenKilled: the volume of a process that is killed while it is frozen thaws.
func TestFrozenKilled(t *testing.T) {
	dir := backing(t, "tmpfs")
	path, target := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	must(t, os.Mkdir(target, 0o755))
	must(t, Create(t.Context(), path, Spec{Size: 32 * mib}))
	m, err := Mount(t.Context(), path, target, MountOptions{})
	must(t, err)
	t.Cleanup(func() { disktest.Unmount(target) })
	c := killtest.Command("frozen", dir)
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	out.Read(make([]byte, 1))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(filepath.Join(m.Root, "f"), []byte("x"), 0o600) }()
	select {
	case err := <-written:
		t.Errorf("a frozen volume was written to: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, c.Process.Kill())
	c.Wait()
	select {
	case err := <-written:
		must(t, err)
	case <-time.After(time.Minute):
		t.Error("it is still frozen")
		must(t, Thaw(target))
	}
	must(t, Thaw(target))
	must(t, Unmount(t.Context(), target))
}

// TestKilled: a process that makes, grows and copies an image is killed at each of its calls. The image is there whole or not at
// all, and the next call completes what was begun.
func TestKilled(t *testing.T) {
	needRoot(t)
	killed := killtest.Test{
		Name:   "changing",
		Calls:  []string{"renameat2", "fallocate", "ftruncate", "fsync", "move_mount", "fsmount", "mkdirat", "umount2"},
		Before: func(t *testing.T, dir string) { must(t, os.Mkdir(filepath.Join(dir, "mnt"), 0o755)) },
		After:  afterKill,
	}.Run(t)
	if killed < 12 {
		t.Errorf("it was killed %d times only", killed)
	}
}

func afterKill(t *testing.T, dir, at, said string) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	path, target := filepath.Join(dir, "image"), filepath.Join(dir, "mnt")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Errorf("killed at %s after %q: %v", at, said, err)
		}
	}
	_, err := Sweep(dir)
	check(err)
	if err := Create(ctx, path, Spec{Size: 32 * mib, Thick: true}); !errors.Is(err, ErrExists) {
		check(err)
		if said != "" {
			t.Errorf("killed at %s: the image is gone", at)
		}
	}
	m, err := Mount(ctx, path, target, MountOptions{})
	check(err)
	check(os.WriteFile(filepath.Join(m.Root, "f"), nil, 0o600))
	check(Unmount(ctx, target))
	check(Grow(ctx, path, 128*mib, false, key.Source{}))
	check(Check(ctx, path, true, key.Source{}))
	if i, err := Describe(ctx, path); err != nil || i.Filesystem != filesystem.Ext4 || i.FilesystemSize != 128*mib {
		t.Errorf("killed at %s: %+v, %v", at, i, err)
	}
	none(t, dir, "image", "mnt", "snapshot", "mounted")
}

// TestDiff: what Patch makes of a difference is the image, after all kinds of changes, on each file system that shares blocks.
func TestDiff(t *testing.T) {
	for _, on := range []string{"xfs", "btrfs"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			dir := backing(t, on)
			other := backing(t, "ext4")
			random := rand.New(rand.NewPCG(1, 2))
			image := make([]byte, 8*mib)
			path := filepath.Join(dir, "image")
			must(t, os.WriteFile(path, image[:4*mib], 0o600))
			base := ""
			for i := range 12 {
				f, err := os.OpenFile(path, os.O_RDWR, 0)
				must(t, err)
				for range 8 {
					at, n := random.Int64N(7*mib), random.Int64N(mib/2)+1
					switch random.IntN(4) {
					case 0:
						must(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n))
					case 1:
						must(t, unix.Fallocate(int(f.Fd()), 0, at, n))
					default:
						part := image[:n]
						for j := range part {
							part[j] = byte(random.Uint32())
						}
						_, err := f.WriteAt(part, at)
						must(t, err)
					}
				}
				if i == 7 {
					must(t, f.Truncate(3*mib))
				}
				must(t, f.Close())
				snapshot := filepath.Join(dir, fmt.Sprint("s", i))
				from, err := os.Open(path)
				must(t, err)
				to, err := os.Create(snapshot)
				must(t, err)
				must(t, duplicate(t.Context(), to, from, SnapshotOptions{}))
				must(t, errors.Join(from.Close(), to.Close()))
				var delta bytes.Buffer
				old, there := "", ""
				if base != "" {
					old, there = filepath.Join(dir, base), filepath.Join(other, base)
				}
				must(t, Diff(t.Context(), snapshot, old, &delta))
				base = fmt.Sprint("s", i)
				must(t, Patch(t.Context(), there, filepath.Join(other, base), &delta))
				want, err := os.ReadFile(snapshot)
				must(t, err)
				got, err := os.ReadFile(filepath.Join(other, base))
				if err != nil || !bytes.Equal(want, got) {
					t.Fatalf("round %d: the patched image differs (%d and %d bytes), %v", i, len(want), len(got), err)
				}
			}
			for _, text := range []string{"", "x", strings.Repeat("\xff", 17), strings.Repeat("\x00", 17)} {
				if err := Patch(t.Context(), "", filepath.Join(other, "bad"), strings.NewReader(text)); !errors.Is(err, errDelta) {
					t.Errorf("%q: %v", text, err)
				}
			}
		})
	}
}
