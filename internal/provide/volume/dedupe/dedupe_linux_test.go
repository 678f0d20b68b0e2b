package dedupe

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// fill makes bytes that can't be compressed.
func fill(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// used is the bytes that a mounted file system has in use.
func used(t *testing.T, dir string) int64 {
	t.Helper()
	unix.Sync()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize
}

// TestFolder: equal parts of files share their blocks afterwards, the space is free, and no byte has changed. What a hostile container puts there is neither followed
// nor waited for.
func TestFolder(t *testing.T) {
	for _, kind := range []string{"btrfs", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			disk := disktest.Loop(t, disktest.Image(t, 512<<20), true)
			disktest.Format(t, disk, kind)
			dir := disktest.Mount(t, disk, kind, 0, "")
			one, other := fill(1, 16<<20), fill(2, 8<<20)
			// Half of the third is the other's, at another place; the fourth differs by one byte in each part.
			third := append(bytes.Clone(other), fill(3, 8<<20)...)
			fourth := bytes.Clone(one)
			for at := 0; at < len(fourth); at += part {
				fourth[at+77] ^= 1
			}
			files := map[string][]byte{"one": one, "sub/copy": one, "other": other, "third": third, "fourth": fourth, "short": one[:part/2], "empty": nil}
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, data := range files {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			outside := filepath.Join(t.TempDir(), "outside")
			if err := os.WriteFile(outside, one, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644)); err != nil {
				t.Fatal(err)
			}
			before := used(t, dir)
			done, err := Folder(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if want := int64(24 << 20); done.Shared != want || done.Skipped != 0 || done.Files != len(files) {
				t.Errorf("done %+v, want %d shared and %d files", done, want, len(files))
			}
			// btrfs frees an extent with its last part alone, so half of the third file may stay.
			if freed := before - used(t, dir); freed < 15<<20 {
				t.Errorf("%d bytes are free again", freed)
			}
			for name, data := range files {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%s differs: %v", name, err)
				}
			}
		})
	}
}

// TestCannot: a file system that can't share blocks is a refusal, and only where there is something to share.
func TestCannot(t *testing.T) {
	disk := disktest.Loop(t, disktest.Image(t, 64<<20), true)
	disktest.Format(t, disk, "ext4")
	dir := disktest.Mount(t, disk, "ext4", 0, "")
	if err := os.WriteFile(filepath.Join(dir, "one"), fill(1, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if done, err := Folder(t.Context(), dir); err != nil || done.Read != 1<<20 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "two"), fill(1, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(t.Context(), dir); !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "xfs or btrfs") {
		t.Errorf("Folder = %v", err)
	}
}
