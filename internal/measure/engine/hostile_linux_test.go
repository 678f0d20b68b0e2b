package engine

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadProfile: what would hang or fill the memory is refused.
func TestReadProfile(t *testing.T) {
	dir := t.TempDir()
	fifo, big, good := filepath.Join(dir, "fifo"), filepath.Join(dir, "big"), filepath.Join(dir, "good")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxProfile+1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "not a regular file", "/dev/zero": "not a regular file", dir: "not a regular file", big: "at most", filepath.Join(dir, "none"): "no such file"} {
		if _, err := readProfile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readProfile(%s) = %v, want %q", path, err, want)
		}
	}
	if b, err := readProfile(good); err != nil || string(b) != "{}" {
		t.Errorf("readProfile = %q, %v", b, err)
	}
}

// TestRemoveCgroups: only groups of Plimsoll's own are removed.
func TestRemoveCgroups(t *testing.T) {
	for _, name := range []string{"", "docker", "../plimsoll-x", "system.slice"} {
		if err := removeCgroups(name); err == nil {
			t.Errorf("removeCgroups(%q) went ahead", name)
		}
	}
}
