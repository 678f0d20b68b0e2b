package image

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/key"
)

// secret is the test's key.
const secret = "\x00\xffthe key of the test, 32 bytes!\n"

// secretMarker is written to encrypted volumes.
const secretMarker = "MARKER-that-nobody-may-read-in-the-image"

func needCrypt(t testing.TB) {
	t.Helper()
	needRoot(t)
	if err := (profile.Host{}).Encryption(); err != nil {
		t.Skipf("needs dm-crypt: %v", err)
	}
}

// keyFile makes a file with the key.
func keyFile(t testing.TB, text string) key.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return key.Source{File: path}
}

// shut fails the test if a device of an encrypted image in the folder is open, or the name of one is left.
func shut(t testing.TB, dir string, names ...string) {
	t.Helper()
	none(t, dir, names...)
	mappers, _ := filepath.Glob("/sys/block/dm-*/slaves/loop*")
	for _, m := range mappers {
		if strings.HasPrefix(loop.File("/dev/"+filepath.Base(m)), dir) {
			t.Errorf("left: %s", m)
		}
	}
	for _, name := range names {
		if f, err := os.Open(filepath.Join(dir, name)); err == nil {
			n, _ := luks.Name(f)
			f.Close()
			if st, err := os.Lstat(luks.Path(n)); err == nil && st.Mode()&os.ModeDevice != 0 { // udev removes its links later.
				t.Errorf("left: %s of %s", luks.Path(n), name)
			}
		}
	}
}

// TestEncrypted makes, mounts, grows and checks encrypted images. Nothing that was written can be read in them.
func TestEncrypted(t *testing.T) {
	needCrypt(t)
	for kind, n := range small {
		t.Run(string(kind), func(t *testing.T) {
			ctx, dir, k := t.Context(), backing(t, ""), keyFile(t, secret)
			path := filepath.Join(dir, "image")
			must(t, Create(ctx, path, Spec{Filesystem: kind, Size: n - 5, Label: "web", Key: k}))
			shut(t, dir, "image")
			i, err := Describe(ctx, path)
			if err != nil || !i.Encrypted || i.Size != n || i.Filesystem != "" {
				t.Errorf("it is %+v, %v", i, err)
			}
			if i.Allocated > 72*mib+luks.HeaderSize {
				t.Errorf("a thin image takes %d bytes", i.Allocated)
			}
			m, target := mountedOn(t, path, MountOptions{Discard: true, Key: k})
			if m.Filesystem != kind || !strings.HasPrefix(m.Source, "/dev/mapper/plimsoll-") || m.Note != "" {
				t.Logf("mounted: %+v", m)
			}
			sized(t, m, n)
			write(t, m.Root, "f", strings.Repeat(secretMarker, 100000))
			again, err := Mount(ctx, path, target, MountOptions{Discard: true, Key: k})
			if err != nil || !again.Already || again.Source != m.Source {
				t.Errorf("a second Mount: %+v, %v", again, err)
			}
			if err := Check(ctx, path, true, k); err == nil {
				t.Error("a mounted image was checked")
			}
			must(t, Grow(ctx, path, n+128*mib, false, k))
			sized(t, m, n+128*mib)
			if s, err := Usage(target); err != nil || s.Size < n+128*mib-72*mib || s.Size > n+128*mib {
				t.Errorf("grown: %+v, %v", s, err)
			}
			before, _ := Allocated(path)
			must(t, os.Remove(filepath.Join(m.Root, "f")))
			write(t, m.Root, "g", secretMarker)
			for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				_, err := Trim(target) // xfs frees the blocks of a removed file in the background.
				must(t, err)
				if after, _ := Allocated(path); after < before-3*mib {
					break
				} else if time.Now().After(end) {
					t.Fatalf("trim left %d of %d bytes", after, before)
				}
			}
			must(t, Unmount(ctx, target))
			shut(t, dir, "image")
			hides(t, path, "MARKER", secret, "lost+found", "_BHRfS_M", "XFSB")
			must(t, Grow(ctx, path, n+256*mib, true, k))
			must(t, Check(ctx, path, false, k))
			must(t, Check(ctx, path, true, k))
			shut(t, dir, "image")
			m, target = mountedOn(t, path, MountOptions{Key: k})
			sized(t, m, n+256*mib)
			has(t, m.Root, "g", secretMarker)
			must(t, Unmount(ctx, target))
			shut(t, dir, "image")
		})
	}
}

// hides fails the test if one of the texts is in a file.
func hides(t *testing.T, path string, texts ...string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	const overlap = 100
	buffer := make([]byte, mib+overlap)
	for at := int64(0); ; at += mib {
		if at, err = f.Seek(at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			return
		}
		must(t, err)
		at = max(0, at/mib*mib)
		n, _ := f.ReadAt(buffer, at)
		for _, text := range texts {
			if bytes.Contains(buffer[:n], []byte(text)) {
				t.Errorf("the image has %q in it", text)
			}
		}
	}
}

// sized checks the size of the device that is mounted.
func sized(t *testing.T, m Mounted, n int64) {
	t.Helper()
	d, err := os.Open(m.Source)
	must(t, err)
	defer d.Close()
	if got, err := d.Seek(0, 2); err != nil || got != n {
		t.Errorf("%s has %d bytes, %v; want %d", m.Source, got, err, n)
	}
}

// TestEncryptedRefuses: without the right key nothing is opened, and the error names where the key comes from.
func TestEncryptedRefuses(t *testing.T) {
	needCrypt(t)
	ctx, dir, k := t.Context(), backing(t, ""), keyFile(t, secret)
	path, plain := filepath.Join(dir, "image"), filepath.Join(dir, "plain")
	for text, bad := range map[string]key.Source{
		"no such file":                {File: filepath.Join(dir, "none")},
		"exit status 3: no key today": {Command: "echo no key today >&2; exit 3"},
		"it has 0 bytes":              {Command: "true"},
	} {
		if err := Create(ctx, path, Spec{Size: 32 * mib, Key: bad}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Create with %v: %v, want %q", bad, err, text)
		}
		shut(t, dir)
	}
	must(t, Create(ctx, path, Spec{Size: 32 * mib, Key: key.Source{Command: "cat " + k.File}}))
	must(t, Create(ctx, plain, Spec{Size: 32 * mib}))
	wrong, target := keyFile(t, secret+"x"), t.TempDir()
	for _, row := range []struct {
		path string
		key  key.Source
		want string
	}{
		{path, wrong, "the key file " + wrong.File + " doesn't open " + path},
		{path, key.Source{Command: "cat " + wrong.File}, "the key command of the profile (service.encryption.key_command) doesn't open " + path},
		{path, key.Source{}, "is encrypted, and its key is not given"},
		{path, key.Source{File: filepath.Join(dir, "none")}, "none: no such file"},
		{plain, k, "is not encrypted, and there is the key file " + k.File},
	} {
		_, err := Mount(ctx, row.path, target, MountOptions{Key: row.key})
		for what, err := range map[string]error{"mount": err, "grow": Grow(ctx, row.path, 64*mib, false, row.key), "check": Check(ctx, row.path, true, row.key)} {
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), secret[2:20]) {
				t.Errorf("%s: %v, want %q", what, err, row.want)
			}
		}
		gone(dir)
		shut(t, dir, "image", "plain")
	}
	m, target := mountedOn(t, path, MountOptions{Key: k})
	write(t, m.Root, "f", "kept")
	if err := Grow(ctx, path, 64*mib, false, wrong); !errors.Is(err, luks.ErrKey) {
		t.Errorf("grow a mounted image with the wrong key: %v", err)
	}
	if i, err := Describe(ctx, path); err != nil || i.Size != 32*mib {
		t.Errorf("it is %+v, %v", i, err)
	}
	must(t, Unmount(ctx, target))
	must(t, os.Truncate(path, 17*mib))
	if _, err := Mount(ctx, path, target, MountOptions{Key: k}); !errors.Is(err, ErrTruncated) {
		t.Errorf("truncated: %v", err)
	}
	must(t, os.Truncate(path, mib))
	if _, err := Mount(ctx, path, target, MountOptions{Key: k}); !errors.Is(err, ErrTruncated) {
		t.Errorf("truncated: %v", err)
	}
	gone(dir)
	shut(t, dir, "image", "plain")
}

// TestEncryptedClone: a clone of a snapshot has the same key and content, and UUIDs of its own.
func TestEncryptedClone(t *testing.T) {
	needCrypt(t)
	for kind, n := range small {
		t.Run(string(kind), func(t *testing.T) {
			ctx, dir, k := t.Context(), backing(t, ""), keyFile(t, secret)
			path, snapshot, clone, restored := filepath.Join(dir, "image"), filepath.Join(dir, "snapshot"), filepath.Join(dir, "clone"), filepath.Join(dir, "restored")
			must(t, Create(ctx, path, Spec{Filesystem: kind, Size: n, Key: k}))
			m, target := mountedOn(t, path, MountOptions{Key: k})
			write(t, m.Root, "f", secretMarker)
			must(t, Snapshot(ctx, path, snapshot, SnapshotOptions{Copy: true}))
			must(t, Clone(ctx, snapshot, clone, SnapshotOptions{Copy: true, Key: k}))
			c, second := mountedOn(t, clone, MountOptions{Key: k}) // Beside the original.
			has(t, c.Root, "f", secretMarker)
			if a, b := superOf(t, m.Source), superOf(t, c.Source); a.UUID == b.UUID || a.Kind != kind {
				t.Errorf("file systems %+v, %+v", a, b)
			}
			a, err := Describe(ctx, path)
			must(t, err)
			b, err := Describe(ctx, clone)
			if err != nil || a.UUID == b.UUID || len(b.UUID) != 36 {
				t.Errorf("%+v, %+v, %v", a, b, err)
			}
			must(t, Unmount(ctx, second))
			must(t, Unmount(ctx, target))
			must(t, Check(ctx, clone, true, k))
			switch kind {
			case filesystem.Ext4:
				if err := Clone(ctx, snapshot, restored, SnapshotOptions{Copy: true, Key: keyFile(t, "another key of many bytes")}); !errors.Is(err, luks.ErrKey) {
					t.Errorf("a clone with the wrong key: %v", err)
				}
				must(t, Restore(ctx, snapshot, restored, SnapshotOptions{Copy: true}))
				m, target = mountedOn(t, restored, MountOptions{Key: k})
				has(t, m.Root, "f", secretMarker)
				must(t, Unmount(ctx, target))
			case filesystem.Btrfs:
				must(t, Subsnapshot(ctx, path, "one", k))
				must(t, Subclone(ctx, path, "one", restored, SnapshotOptions{Copy: true, Key: k}))
				m, target = mountedOn(t, restored, MountOptions{Key: k})
				has(t, m.Root, "f", secretMarker)
				must(t, Unmount(ctx, target))
				must(t, Subrestore(ctx, path, "one", k))
				must(t, Subremove(ctx, path, "one", k))
			}
			gone(dir)
			shut(t, dir, "image", "snapshot", "clone", "restored")
		})
	}
}

// gone waits until the kernel has detached the loop devices of a folder.
func gone(dir string) {
	for end := time.Now().Add(time.Minute); luksLeft(dir) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// luksLeft reports whether a loop device has a file in the folder.
func luksLeft(dir string) bool {
	all, _ := filepath.Glob("/sys/block/loop*")
	for _, l := range all {
		if strings.HasPrefix(loop.File(l), dir) {
			return true
		}
	}
	return false
}

func superOf(t *testing.T, path string) filesystem.Super {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	s, err := filesystem.ReadSuper(f)
	must(t, err)
	return s
}

// BenchmarkEncrypted mounts and unmounts encrypted images of 1 GB.
func BenchmarkEncrypted(b *testing.B) {
	needCrypt(b)
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			path, target, k := filepath.Join(folderFor(b), "image"), b.TempDir(), keyFile(b, secret)
			must(b, Create(b.Context(), path, Spec{Filesystem: kind, Size: 1e9, Key: k}))
			for b.Loop() {
				_, err := Mount(b.Context(), path, target, MountOptions{Discard: true, Key: k})
				must(b, err)
				must(b, Unmount(b.Context(), target))
			}
		})
	}
}
