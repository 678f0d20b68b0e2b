package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/refusal"
)

const mib = 1 << 20

// small are sizes near the least of each kind.
var small = map[filesystem.Kind]int64{filesystem.Ext4: 64 * mib, filesystem.XFS: 320 * mib, filesystem.Btrfs: 128 * mib}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// backing makes a folder on a file system of a kind. "": the machine's own temporary folder.
func backing(t testing.TB, kind string) string {
	t.Helper()
	needRoot(t)
	switch kind {
	case "":
		dir := t.TempDir()
		leaktest.Check(t, dir)
		return dir
	case "tmpfs", "ramfs":
		return disktest.Mount(t, kind, kind, 0, "")
	}
	_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Size: 2 << 30, Memory: true})
	return dir
}

// mountedOn mounts an image on a new folder until the end of the test.
func mountedOn(t testing.TB, path string, o MountOptions) (Mounted, string) {
	t.Helper()
	target := t.TempDir()
	t.Cleanup(func() {
		if err := Unmount(t.Context(), target); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		unix.Unmount(target, unix.MNT_DETACH)
	})
	m, err := Mount(t.Context(), path, target, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, target
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// none fails the test unless nothing but names is in the folder, and no loop device has a file there.
func none(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) && e.Name() != "lost+found" {
			t.Errorf("left in %s: %s", dir, e.Name())
		}
	}
	for _, what := range leaktest.Find(dir + "/") {
		if strings.HasPrefix(what, "loop device") {
			t.Errorf("left: %s", what)
		}
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	must(t, err)
	_, err = f.WriteString(text)
	must(t, errors.Join(err, f.Sync(), f.Close()))
}

func has(t testing.TB, dir, name, text string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
		t.Errorf("%s holds %.40q, %v; want %q", name, b, err, text)
	}
}

// TestLife makes, mounts and unmounts images of each kind on each kind of file system.
func TestLife(t *testing.T) {
	for _, on := range []string{"", "xfs", "btrfs", "tmpfs"} {
		t.Run("on_"+on, func(t *testing.T) {
			t.Parallel()
			dir := backing(t, on)
			for kind, n := range small {
				t.Run(string(kind), func(t *testing.T) { life(t, filepath.Join(dir, string(kind)), kind, n) })
			}
		})
	}
}

func life(t *testing.T, path string, kind filesystem.Kind, n int64) {
	ctx := t.Context()
	must(t, Create(ctx, path, Spec{Filesystem: kind, Size: n - 5, Label: "web"}))
	i, err := Describe(ctx, path)
	must(t, err)
	if i.Filesystem != kind || i.Size != n || i.Label != "web" || i.FilesystemSize > n || i.FilesystemSize < n-8*mib || len(i.UUID) != 36 {
		t.Errorf("it is %+v", i)
	}
	if i.Allocated > 72*mib { // mkfs.xfs reserves 64 MiB for its log.
		t.Errorf("a thin image takes %d bytes", i.Allocated)
	}
	if err := Create(ctx, path, Spec{Size: n}); !errors.Is(err, ErrExists) {
		t.Errorf("a second Create: %v", err)
	}
	m, target := mountedOn(t, path, MountOptions{Discard: true})
	if names, _ := os.ReadDir(m.Root); len(names) > 0 {
		t.Errorf("a new volume holds %v", names)
	}
	if b, err := os.ReadFile("/sys/block/" + filepath.Base(m.Source) + "/size"); err != nil || strings.TrimSpace(string(b)) != strconv.FormatInt(n/512, 10) {
		t.Errorf("the device has %s sectors, %v", b, err)
	}
	if m.Note != "" {
		t.Logf("note: %s", m.Note)
	}
	write(t, m.Root, "f", "kept")
	again, err := Mount(ctx, path, target, MountOptions{Discard: true})
	if err != nil || !again.Already || again.Source != m.Source {
		t.Errorf("a second Mount: %+v, %v", again, err)
	}
	other, second := mountedOn(t, path, MountOptions{ReadOnly: true})
	if other.Source != m.Source {
		t.Errorf("%s and %s have one image", other.Source, m.Source)
	}
	has(t, other.Root, "f", "kept")
	if err := os.WriteFile(filepath.Join(other.Root, "g"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("a read-only mount: %v", err)
	}
	must(t, Unmount(ctx, second))
	must(t, Unmount(ctx, target))
	must(t, Unmount(ctx, target))
	if f := loop.File(m.Source); f == path {
		t.Errorf("%s still has %s", m.Source, f)
	}
	must(t, Check(ctx, path, true, key.Source{}))
	m, target = mountedOn(t, path, MountOptions{})
	has(t, m.Root, "f", "kept")
	must(t, Unmount(ctx, target))
}

// TestTogether mounts one image from several calls at once: they share one loop device.
func TestTogether(t *testing.T) {
	path := filepath.Join(backing(t, "tmpfs"), "image")
	must(t, Create(t.Context(), path, Spec{Size: 32 * mib}))
	targets, sources := make([]string, 8), make([]string, 8)
	var all sync.WaitGroup
	for i := range targets {
		targets[i] = t.TempDir()
		all.Go(func() {
			m, err := Mount(t.Context(), path, targets[i], MountOptions{})
			if err != nil {
				t.Error(err)
			}
			sources[i] = m.Source
		})
	}
	all.Wait()
	if slices.Sort(sources); sources[0] != sources[7] {
		t.Errorf("one image has %q", sources)
	}
	for _, target := range targets {
		must(t, Unmount(t.Context(), target))
	}
	none(t, filepath.Dir(path), "image")
}

// TestFull fills a volume: the file system ends before the capacity, and not long before.
func TestFull(t *testing.T) {
	for kind, n := range small {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(backing(t, "tmpfs"), "image")
			must(t, Create(t.Context(), path, Spec{Filesystem: kind, Size: n}))
			m, target := mountedOn(t, path, MountOptions{Discard: true})
			s, err := Usage(target)
			must(t, err)
			written := fill(t, filepath.Join(m.Root, "f"))
			t.Logf("%s of %d MiB: size %d, free %d, written %d MiB", kind, n/mib, s.Size/mib, s.Free/mib, written/mib)
			if written > n || written < s.Free*8/10 {
				t.Errorf("%d bytes were written, %+v", written, s)
			}
			if a, err := Allocated(path); err != nil || a > n {
				t.Errorf("the image of %d bytes takes %d, %v", n, a, err)
			}
			before, _ := Allocated(path)
			must(t, os.Remove(filepath.Join(m.Root, "f")))
			// xfs frees the blocks of a removed file in the background.
			for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				_, err = Trim(target)
				must(t, err)
				after, err := Allocated(path)
				if err != nil || after < before/2 || time.Now().After(end) {
					if err != nil || after > before/2 {
						t.Errorf("trim left %d of %d bytes, %v", after, before, err)
					}
					break
				}
			}
		})
	}
}

// fill writes to a file until the disk is full.
func fill(t testing.TB, path string) (written int64) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	b := bytes.Repeat([]byte("plimsoll"), mib/8)
	for err == nil {
		var n int
		n, err = f.Write(b)
		written += int64(n)
		if err == nil {
			err = f.Sync()
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("a full volume: %v", err)
	}
	return written
}

// TestThick: the space is there, or the answer says why not.
func TestThick(t *testing.T) {
	for _, on := range []string{"", "xfs", "btrfs", "tmpfs"} {
		t.Run("on_"+on, func(t *testing.T) {
			t.Parallel()
			dir := backing(t, on)
			for kind, n := range small {
				path := filepath.Join(dir, string(kind))
				must(t, Create(t.Context(), path, Spec{Filesystem: kind, Size: n, Thick: true}))
				if a, err := Allocated(path); err != nil || a < n {
					t.Errorf("%s: %d of %d bytes are allocated, %v", kind, a, n, err)
				}
			}
			err := Create(t.Context(), filepath.Join(dir, "more"), Spec{Size: 1 << 45, Thick: true})
			if !errors.Is(err, ErrFull) && !errors.Is(err, unix.EFBIG) {
				t.Errorf("more than the disk has: %v", err)
			}
			none(t, dir, "ext4", "xfs", "btrfs")
		})
	}
	t.Run("on_ramfs", func(t *testing.T) {
		dir := backing(t, "ramfs")
		err := Create(t.Context(), filepath.Join(dir, "image"), Spec{Size: 32 * mib, Thick: true})
		if !errors.Is(err, refusal.ErrRefused) && !errors.Is(err, ErrFull) {
			t.Errorf("a file system without fallocate: %v", err)
		}
		none(t, dir)
	})
}

// TestDiskFull: a disk that is full in the middle leaves nothing behind.
func TestDiskFull(t *testing.T) {
	for _, kind := range []filesystem.Kind{filesystem.Ext4, filesystem.XFS, filesystem.Btrfs} {
		dir := disktest.Tmpfs(t, "size=200k")
		if err := Create(t.Context(), filepath.Join(dir, "image"), Spec{Filesystem: kind, Size: 1 << 30}); !errors.Is(err, ErrFull) {
			t.Errorf("%s on a full disk: %v", kind, err)
		}
		none(t, dir)
	}
	dir := disktest.Tmpfs(t, "size=64m")
	path := filepath.Join(dir, "image")
	must(t, Create(t.Context(), path, Spec{Size: 32 * mib, Thick: true}))
	before, _ := Allocated(path)
	if err := Grow(t.Context(), path, 128*mib, true, key.Source{}); !errors.Is(err, ErrFull) {
		t.Errorf("grow on a full disk: %v", err)
	}
	i, err := Describe(t.Context(), path)
	if err != nil || i.Size != 32*mib || i.Allocated != before {
		t.Errorf("it is %+v, %v; %d bytes were allocated", i, err, before)
	}
	if err := Snapshot(t.Context(), path, filepath.Join(dir, "copy"), SnapshotOptions{Copy: true}); err != nil && !errors.Is(err, ErrFull) {
		t.Errorf("copy on a full disk: %v", err)
	}
	none(t, dir, "image", "copy")
}

func TestBad(t *testing.T) {
	dir := backing(t, "tmpfs")
	ctx := t.Context()
	for text, s := range map[string]Spec{
		"no size":            {Size: 0},
		"-1 bytes is no":     {Size: -1},
		"no size for":        {Size: 1<<63 - 1},
		"too small for ext4": {Size: 1},
		"too small for xfs":  {Size: 200 * mib, Filesystem: "xfs"},
		"no file system":     {Size: 1 << 30, Filesystem: "zfs"},
		"too long":           {Size: 1 << 30, Label: strings.Repeat("x", 17)},
	} {
		if err := Create(ctx, filepath.Join(dir, "bad"), s); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Create(%+v) = %v, want %q", s, err, text)
		}
	}
	good, garbage, short, empty, link := filepath.Join(dir, "good"), filepath.Join(dir, "garbage"), filepath.Join(dir, "short"), filepath.Join(dir, "empty"), filepath.Join(dir, "link")
	must(t, Create(ctx, good, Spec{Size: 64 * mib}))
	must(t, os.WriteFile(garbage, bytes.Repeat([]byte{7}, 1<<20), 0o600))
	must(t, Snapshot(ctx, good, short, SnapshotOptions{Copy: true}))
	must(t, os.Truncate(short, 20*mib))
	must(t, os.WriteFile(empty, nil, 0o600))
	must(t, os.Symlink(good, link))
	target := t.TempDir()
	for path, want := range map[string]error{filepath.Join(dir, "none"): ErrMissing, garbage: ErrNotImage, short: ErrTruncated, empty: ErrTruncated, link: ErrNotImage, dir: ErrNotImage} {
		_, err := Mount(ctx, path, target, MountOptions{})
		for what, err := range map[string]error{"mount": err, "grow": Grow(ctx, path, 1<<30, false, key.Source{}), "snapshot": Snapshot(ctx, path, filepath.Join(dir, "to"), SnapshotOptions{Copy: true})} {
			if !errors.Is(err, want) {
				t.Errorf("%s %s: %v, want %v", what, path, err, want)
			}
		}
	}
	if _, err := Mount(ctx, good, target, MountOptions{Compression: "zstd"}); err == nil || !strings.Contains(err.Error(), "btrfs") {
		t.Errorf("ext4 with compression: %v", err)
	}
	if _, err := Mount(ctx, good, filepath.Join(dir, "nowhere"), MountOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no target: %v", err)
	}
	if _, err := Mount(ctx, good, dir, MountOptions{}); err == nil {
		t.Error("it was mounted over another mount")
	}
	if err := Unmount(ctx, dir); err == nil {
		t.Error("a mount of others was unmounted")
	}
	if _, err := Freeze(target); err == nil {
		t.Error("a folder that isn't a volume was frozen")
	}
	none(t, dir, "good", "garbage", "short", "empty", "link")
}
