package userfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestCreateSparesBlockDevices: a disk is no place for what a command prints, by its own name or a link's.
func TestCreateSparesBlockDevices(t *testing.T) {
	image := disktest.Image(t, 1<<20)
	before := bytes.Repeat([]byte("precious"), 1<<17)
	if err := os.WriteFile(image, before, 0o600); err != nil {
		t.Fatal(err)
	}
	device := disktest.Loop(t, image, false)
	link := filepath.Join(t.TempDir(), "out.txt")
	if err := os.Symlink(device, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{device, link} {
		o, err := Create(t.Context(), name)
		if !errors.Is(err, ErrBlockDevice) {
			t.Errorf("Create(%s) = %v, want %v", name, err, ErrBlockDevice)
		}
		if err == nil {
			o.Close()
		}
	}
	for _, name := range []string{os.DevNull, "/dev/full"} {
		o, err := Create(t.Context(), name)
		if err != nil {
			t.Errorf("Create(%s) = %v, which is not a block device", name, err)
			continue
		}
		o.Close()
	}
	if after, err := os.ReadFile(image); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the device was written to, %v", err)
	}
}
