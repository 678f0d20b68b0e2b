package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// cacheWith is an engine whose state folder's path has characters that patterns have, and whose cache has files that were used so long ago.
func cacheWith(t *testing.T, files map[string]time.Duration) *Engine {
	t.Helper()
	v := &Engine{Options: Options{State: filepath.Join(t.TempDir(), "a[b*")}}
	if err := os.MkdirAll(v.cacheDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, ago := range files {
		path := filepath.Join(v.cacheDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-ago), now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// wantCache fails unless the cache has those files alone.
func wantCache(t *testing.T, v *Engine, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(v.cacheDir())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// TestDropSaved: of the saved machines those that were used last stay, and none of another boot; other files of the cache are none.
func TestDropSaved(t *testing.T) {
	now := savedNow()
	other := savedPrefix + "01234567-"
	if !strings.HasPrefix(now, savedPrefix) || len(now) != len(other) || now == other {
		t.Fatalf("saved machines of this boot begin with %s", now)
	}
	files := map[string]time.Duration{other + "new": 0, "saved-of-old-versions": 0, "initrd": 0, ".saved-1": 0}
	want := []string{"initrd", ".saved-1"}
	for i := range maxSaved + 2 {
		name := now + string(rune('a'+i))
		if files[name] = time.Duration(i+1) * time.Minute; i < maxSaved {
			want = append(want, name)
		}
	}
	v := cacheWith(t, files)
	v.dropSaved()
	wantCache(t, v, want...)
}

// TestDropImages: of the kernels and of the first root file systems those stay that were used last, and all that were a short time ago.
func TestDropImages(t *testing.T) {
	const day = 24 * time.Hour
	v := cacheWith(t, map[string]time.Duration{
		"kernel-a": time.Minute, "kernel-b": 2 * day, "kernel-c": 3 * day, "kernel-d": 4 * day, "kernel-e": 5 * day,
		"initramfs-a": time.Minute, "initramfs-b": time.Hour, "initramfs-c": 2 * time.Hour, "initramfs-d": 23 * time.Hour, "initramfs-e": 2 * day,
		"kvm.json": 100 * day, savedPrefix + "1": 100 * day, ".kernel-1": 100 * day,
	})
	v.dropImages()
	wantCache(t, v, "kernel-a", "kernel-b", "kernel-c", "initramfs-a", "initramfs-b", "initramfs-c", "initramfs-d", "kvm.json", savedPrefix+"1", ".kernel-1")
}

// TestTouch: that a file of the cache is used is noted, and one elsewhere is nobody's business.
func TestTouch(t *testing.T) {
	const long = 100 * time.Hour
	v := cacheWith(t, map[string]time.Duration{"kernel-a": long, "kernel-b": long})
	elsewhere := filepath.Join(v.State, "vmlinux")
	if err := os.Rename(filepath.Join(v.cacheDir(), "kernel-b"), elsewhere); err != nil {
		t.Fatal(err)
	}
	kernel := filepath.Join(v.cacheDir(), "kernel-a")
	v.touch(kernel, elsewhere, filepath.Join(v.cacheDir(), "none"))
	for path, want := range map[string]bool{kernel: true, elsewhere: false} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(st.ModTime()) < long/2; got != want {
			t.Errorf("%s was used %v ago", path, time.Since(st.ModTime()))
		}
	}
}
