package row

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// TestRemovedGroup: while an idle target is verified, a neighbour writes, ends, and its group is removed, and so is one of the target's other
// groups. The kernel's sum then loses their counts. The target was said to have used its limit itself.
func TestRemovedGroup(t *testing.T) {
	const mib = 1 << 20
	top := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	counts := func(group, end string, n int64) {
		t.Helper()
		put(filepath.Join(group, "blkio.throttle.io_service_bytes"+end), fmt.Sprintf("7:1 Read 0\n7:1 Write %d\n", n*mib))
		put(filepath.Join(group, "blkio.throttle.io_serviced"+end), fmt.Sprintf("7:1 Read 0\n7:1 Write %d\n", n))
	}
	group := func(name string) *hierarchy.Group {
		return &hierarchy.Group{Version: 1, Dir: filepath.Join(top, name), Root: top, Path: "/" + name}
	}
	r := Request{
		FS: device.FS{Sys: filepath.Join(top, "sys")}, Device: device.Device{Number: device.Number{Major: 7, Minor: 1}},
		Group: group("target"), RootGroup: group(""), OtherGroups: []*hierarchy.Group{group("side")},
	}
	var f follower
	for i, at := range []struct {
		// Each is what was done by then, in MiB: on the device, and charged to the kernel's sum, to the target and to its other group.
		// -1: the group is gone.
		device, all, target, side int64
	}{
		{1000, 300, 5, 40},
		{1030, 330, 5, 40}, // The neighbour writes.
		{1032, 132, 5, 40}, // Its group is removed, with 200 MiB.
		{1033, 93, 5, -1},  // So is the target's other group, with 40 MiB.
		{1037, 97, 7, -1},
	} {
		put("sys/dev/block/7:1/stat", fmt.Sprintf("0 0 0 0 %d 0 %d 0 0 0 0\n", at.device, at.device*mib/512))
		counts("", "_recursive", at.all)
		counts("", "", 0)
		counts("target", "", at.target)
		if at.side >= 0 {
			counts("side", "", at.side)
		} else if err := os.RemoveAll(filepath.Join(top, "side")); err != nil {
			t.Fatal(err)
		}
		f.look(r)
		if len(f.samples) != i+1 || f.samples[i].charged == nil {
			t.Fatalf("sample %d: %+v", i, f.samples)
		}
		n, known := underLimit(f.samples[i])
		begin, _ := underLimit(f.samples[0])
		n = n.plus(begin, -1)
		if want := at.target - 5; !known || n.writtenBytes != want*mib || n.writes != want {
			t.Errorf("sample %d: %+v under the limit since the first, want %d MiB", i, n, want)
		}
	}
}
