package guest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/texttest"
)

// TestInitramfs has cpio, which others write and read such archives with, take it apart.
func TestInitramfs(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("cpio is needed")
	}
	dir := t.TempDir()
	odd := strings.Repeat("m", 1001)
	write(t, dir, map[string]string{"a-b.ko": odd, "c.ko.gz": string(pack(t, "gzip", []byte("plain")))})
	modules := []string{filepath.Join(dir, "a-b.ko"), filepath.Join(dir, "c.ko.gz")}
	to := filepath.Join(dir, "initramfs")
	if err := WriteInitramfs(to, []byte("#!init"), modules); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cpio", "-tv")
	cmd.Stdin = bytes.NewReader(archive)
	list, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cpio: %v: %s", err, list)
	}
	texttest.Has(t, string(list), []string{"crw-------", "5,   1", "dev/console", "-rwxr-xr-x", "drwxr-xr-x", "modules/a_b.ko", "modules/c.ko"})
	for name, want := range map[string]string{"init": "#!init", "modules/a_b.ko": odd, "modules/c.ko": "plain"} {
		cmd := exec.Command("cpio", "-i", "--quiet", "--to-stdout", name)
		cmd.Stdin = bytes.NewReader(archive)
		if got, err := cmd.Output(); err != nil || string(got) != want {
			t.Errorf("%s holds %.40q, %v, want %.40q", name, got, err, want)
		}
	}
	again := filepath.Join(dir, "again")
	if err := WriteInitramfs(again, []byte("#!init"), modules); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(again); !bytes.Equal(b, archive) {
		t.Error("written twice it is not the same")
	}
	if err := WriteInitramfs(filepath.Join(dir, "bad"), nil, []string{filepath.Join(dir, "none.ko")}); err == nil {
		t.Error("a module that isn't there is no error")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".initramfs*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
