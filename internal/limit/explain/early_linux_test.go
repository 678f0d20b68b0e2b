package explain

import (
	"path/filepath"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
)

// TestEarlyOnKernel holds what is said of a btrfs and fsync against the kernel that this runs on: in part. It was said that the fsync has all
// charged to the group, which is so of large writes alone.
func TestEarlyOnKernel(t *testing.T) {
	m := newMeter(t)
	_, dir := disktest.Disk(t, disktest.Options{Kind: "btrfs", Size: loopSize, Direct: true})
	h, err := Look(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	e, err := h.Path(dir)
	if err != nil {
		t.Fatal(err)
	}
	disk := e.disks(true)[0]
	m.counts(t, disk)
	// Of the data alone: what btrfs notes of many small writes is half as much again, and charged to nobody.
	charged := func(mode string, data int64) float64 {
		before := m.charged(t, disk)
		m.run(t, mode, filepath.Join(dir, mode), e.Tree, disk)
		return float64(m.charged(t, disk)-before) / float64(data)
	}
	small, large := charged(smallSync, amount/2), charged(BufferedSync, amount)
	t.Logf("charged: %.2f of small writes, %.2f of large ones", small, large)
	var mode Mode
	for _, o := range e.Modes {
		if o.Name == BufferedSync {
			mode = o
		}
	}
	switch mode.Group {
	case Covered: // Version 2 knows whose data threads write.
		if small < 0.9 || large < 0.9 {
			t.Errorf("held, with %.2f and %.2f charged", small, large)
		}
	case Partly:
		if small > 0.9 || large < 0.9 {
			t.Errorf("in part, with %.2f and %.2f charged", small, large)
		}
	default:
		t.Errorf("the verdict is %+v", mode)
	}
}
