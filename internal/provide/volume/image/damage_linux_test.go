package image

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
)

// TestDamaged: a damaged image isn't mounted, and stays as it is.
func TestDamaged(t *testing.T) {
	for kind, at := range map[filesystem.Kind]int64{filesystem.Ext4: 4096, filesystem.XFS: 4096, filesystem.Btrfs: 0x10000 + 0x80} {
		path := filepath.Join(backing(t, "tmpfs"), "image")
		must(t, Create(t.Context(), path, Spec{Filesystem: kind, Size: small[kind]}))
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		_, err = f.WriteAt(bytes.Repeat([]byte{0xA5}, 3*4096), at)
		if kind == filesystem.Ext4 { // Marked as damaged by the kernel.
			_, err = f.WriteAt([]byte{2, 0}, 1024+0x3A)
		}
		must(t, errors.Join(err, f.Close()))
		damaged := (*filesystem.DamagedError)(nil)
		err = Check(t.Context(), path, true, key.Source{})
		t.Logf("%s: %.200v", kind, err)
		if !errors.As(err, &damaged) {
			t.Errorf("%s: thorough check: %v", kind, err)
		}
		target := t.TempDir()
		_, err = Mount(t.Context(), path, target, MountOptions{})
		t.Logf("%s: %.200v", kind, err)
		if err == nil {
			must(t, Unmount(t.Context(), target)) // xfs needs the damaged part later only.
		}
		none(t, filepath.Dir(path), "image")
	}
}

// TestLost: a volume's folder that is missing isn't made again.
func TestLost(t *testing.T) {
	path := filepath.Join(backing(t, "tmpfs"), "image")
	must(t, Create(t.Context(), path, Spec{Size: 64 * mib}))
	m, target := mountedOn(t, path, MountOptions{})
	must(t, os.Rename(m.Root, filepath.Join(target, "lost+found", "#12")))
	must(t, Unmount(t.Context(), target))
	if _, err := Mount(t.Context(), path, target, MountOptions{}); !errors.As(err, new(*filesystem.DamagedError)) {
		t.Errorf("without its folder: %v", err)
	}
}

// TestCrash copies an image while it is written to, as a power cut leaves it: what was synced is there after a mount.
func TestCrash(t *testing.T) {
	for kind, n := range small {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := backing(t, "tmpfs")
			path, cut := filepath.Join(dir, "image"), filepath.Join(dir, "cut")
			must(t, Create(t.Context(), path, Spec{Filesystem: kind, Size: n}))
			m, target := mountedOn(t, path, MountOptions{})
			for i := range 50 {
				write(t, m.Root, fmt.Sprint(i), "kept")
			}
			from, err := os.Open(path)
			must(t, err)
			defer from.Close()
			to, err := os.Create(cut)
			must(t, err)
			must(t, errors.Join(copySparse(t.Context(), to, from), to.Close()))
			must(t, Unmount(t.Context(), target))
			m, _ = mountedOn(t, cut, MountOptions{})
			for i := range 50 {
				has(t, m.Root, fmt.Sprint(i), "kept")
			}
		})
	}
}
