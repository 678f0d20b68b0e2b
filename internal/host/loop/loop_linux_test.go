package loop

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/state/filelock"
	"plimsoll/internal/testkit/leaktest"
)

// TestAttach attaches a file, finds its device by another name of the file, and lets it grow.
func TestAttach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	leaktest.Check(t, dir)
	path, other := filepath.Join(dir, "image"), filepath.Join(dir, "other")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if d, err := Find(f); err != nil || d != nil {
		t.Errorf("before: %v, %v", d, err)
	}
	d, err := Attach(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if File(d.Name()) != path {
		t.Errorf("%s has %q", d.Name(), File(d.Name()))
	}
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	found, err := Find(f)
	if err != nil || found == nil || found.Name() != d.Name() {
		t.Fatalf("found %v, %v; want %s", found, err, d.Name())
	}
	found.Close()
	if err := os.Link(other, path); err != nil { // The device has one name, and f another.
		t.Fatal(err)
	}
	linked, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	if found, err = Find(linked); err != nil || found == nil {
		t.Fatalf("by another name: %v, %v", found, err)
	}
	found.Close()
	if n, err := Number(d); err != nil || n.Major != 7 {
		t.Errorf("number %v, %v", n, err)
	}
	if err := f.Truncate(2 << 20); err != nil {
		t.Fatal(err)
	}
	if err := Refresh(d); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Seek(0, 2); err != nil || n != 2<<20 {
		t.Errorf("%s has %d bytes, %v", d.Name(), n, err)
	}
}

// TestLock: a device doesn't keep a lock of the file that it was attached with.
func TestLock(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	path := filepath.Join(t.TempDir(), "image")
	f, err := filelock.Take(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	d, err := Attach(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	again, err := filelock.Take(path, 0o600)
	if err != nil {
		t.Fatalf("the device keeps the lock: %v", err)
	}
	again.Close()
	d.Close()
	for end := time.Now().Add(time.Minute); File(d.Name()) == path; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s is still attached", d.Name())
		}
	}
}
