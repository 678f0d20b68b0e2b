package volume

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDedupe: a volume whose profile asks for it shares equal parts once a day, and an unmount doesn't wait for that.
func TestDedupe(t *testing.T) {
	s := lab(t)
	v := s.made(t, "twins", map[string]string{"capacity": "400MB", "filesystem": "btrfs", "dedupe": "yes"})
	m, err := s.Mount(t.Context(), v.Name, "one")
	must(t, err)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<19)
	for i := range data {
		data[i] ^= byte(i >> 12) // Else btrfs would find its own equal parts in one file.
	}
	for _, name := range []string{"a", "b"} {
		must(t, os.WriteFile(filepath.Join(m.Root, name), data, 0o644))
	}
	done, err := s.Dedupe(t.Context())
	if err != nil || len(done) != 1 || !strings.Contains(done[0], "of 16.8 MB in 2 files share their blocks now") && !strings.Contains(done[0], "of 16 MiB in 2 files share their blocks now") {
		t.Errorf("Dedupe = %q, %v", done, err)
	}
	if done, err := s.Dedupe(t.Context()); err != nil || len(done) != 0 {
		t.Errorf("again on the same day: %q, %v", done, err)
	}
	ctx, stop := s.whileMounted(t.Context(), v.Name)
	defer stop()
	must(t, s.Unmount(t.Context(), v.Name, "one"))
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("work in the volume isn't told that it is unmounted")
	}
}
