package device

import (
	"testing"

	"plimsoll/internal/testkit/treetest"
)

// TestBlockMaxIO: the kernel's values for "no bound" give 0.
func TestBlockMaxIO(t *testing.T) {
	root := treetest.Make(t, map[string]string{
		"sda/queue/max_sectors_kb":     "1280\n",
		"bcache0/queue/max_sectors_kb": "2147483647\n",
	})
	for name, want := range map[string]int64{"sda": 1280 << 10, "bcache0": 0, "sdb": 0} {
		if d := Block(root + "/" + name); d.MaxIO != want {
			t.Errorf("%s: MaxIO = %d, want %d", name, d.MaxIO, want)
		}
	}
}
