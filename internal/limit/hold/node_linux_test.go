package hold

import (
	"errors"
	"os"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestNode: a device is looked at once for all who ask at a time, and another one that gets its name by itself.
func TestNode(t *testing.T) {
	disk, other := disktest.Loop(t, disktest.Image(t, 1<<20), false), disktest.Loop(t, disktest.Image(t, 1<<20), false)
	link := t.TempDir() + "/disk"
	if err := os.Symlink(disk, link); err != nil {
		t.Fatal(err)
	}
	h := holder(t)
	number := func(want string) {
		t.Helper()
		e, err := h.node(link)
		if err != nil || len(e.Hard) != 1 || e.Hard[0].Number.String() != disktest.Number(t, want) {
			t.Errorf("node() = %+v, %v, want %s", e, err, want)
		}
	}
	number(disk)
	same := false
	for range 10 { // The machine may be busy for the moment that it is kept.
		a, errA := h.node(link)
		b, errB := h.node(link)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		same = same || a == b
	}
	if !same {
		t.Error("each is a look of its own")
	}
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	number(other)
}
