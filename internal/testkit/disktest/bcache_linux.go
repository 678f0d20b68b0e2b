package disktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bcache makes a bcache of a cache and a disk, in a mode such as "writeback", and returns the path of the new device. It skips the
// test if the kernel has no bcache; the guest of make test-guest has it (Documentation/admin-guide/bcache.rst).
func Bcache(t testing.TB, mode, backing, cache string) string {
	t.Helper()
	needRoot(t, "makes a bcache")
	const all = "/sys/fs/bcache"
	if _, err := os.Stat(all); err != nil {
		t.Skip("needs bcache in the kernel")
	}
	put := func(path, text string) error { return os.WriteFile(path, []byte(text), 0) }
	gone := func(path string) bool { _, err := os.Stat(path); return err != nil }
	wait := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("bcache: %s", what)
				return
			}
		}
	}
	set := ""
	for _, line := range strings.Split(Run(t, "make-bcache", "--wipe-bcache", "-B", backing, "-C", cache), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "Set UUID" {
			set = filepath.Join(all, strings.TrimSpace(value))
		}
	}
	of := func(device string) string { return filepath.Join("/sys/block", filepath.Base(device), "bcache") }
	t.Cleanup(func() {
		// The disk first: it uses the cache.
		for _, dir := range []string{of(backing), set} {
			if !gone(dir) {
				if err := put(filepath.Join(dir, "stop"), "1"); err != nil {
					t.Error(err)
				}
			}
		}
		wait("a device of the test stays", func() bool { return gone(of(backing)) && gone(of(cache)) })
	})
	for _, device := range []string{cache, backing} {
		// udev may have done it already.
		if err := put(filepath.Join(all, "register"), device); err != nil && gone(of(device)) {
			t.Fatalf("register %s: %v", device, err)
		}
	}
	var name string
	wait("there is no device", func() bool {
		target, err := os.Readlink(filepath.Join(of(backing), "dev"))
		name = filepath.Base(target)
		return err == nil
	})
	if err := put(filepath.Join("/sys/block", name, "bcache/cache_mode"), mode); err != nil {
		t.Fatal(err)
	}
	return "/dev/" + name
}
