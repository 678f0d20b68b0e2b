package journal

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestPowerCut: the power fails after an entry was written, when the file system has committed names to its disk for
// another file. The entry is then whole or missing, although nobody has waited for its data: an empty one would have to
// be removed by hand.
func TestPowerCut(t *testing.T) {
	image := disktest.Image(t, 64<<20)
	disk := disktest.Loop(t, image, true)
	disktest.Format(t, disk, "ext4")
	dir := disktest.Mount(t, disk, "ext4", 0, "")
	j := Open(dir)
	t.Cleanup(func() { // It has a file open on the disk.
		if err := j.Remove("host-session", "one"); err != nil {
			t.Error(err)
		}
	})
	if err := j.Put(t.Context(), "host-session", "one", map[string]string{"paths": "some"}); err != nil {
		t.Fatal(err)
	}
	other, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Sync(); err != nil {
		t.Fatal(err)
	}
	// What the disk has now is what a machine would find after the power cut.
	left := disktest.Image(t, 64<<20)
	disktest.Run(t, "dd", "if="+image, "of="+left, "bs=1M", "iflag=direct", "status=none")
	after := disktest.Mount(t, disktest.Loop(t, left, false), "ext4", 0, "")
	list, err := Open(after).Entries("host-session")
	if err != nil || len(list) != 1 || list[0].ID != "one" {
		t.Errorf("after the power cut there are the entries %+v (%v), want the one whose name is on the disk", list, err)
	}
}
