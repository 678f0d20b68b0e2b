package keeper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestGrantReads: a rule gives the disk with an overlay's lower folders no rates of writing, and can't be kept where all that is
// written goes to memory.
func TestGrantReads(t *testing.T) {
	needV1(t)
	group := disktest.NewBlkioGroup(t)
	lower, below := disktest.Disk(t, disktest.Options{})
	upper, on := disktest.Disk(t, disktest.Options{})
	opt := Options{Holder: holderFor(t), Run: t.TempDir(), Policy: filepath.Join(t.TempDir(), "policy.yaml")}
	once := func(on, limits string) (Done, error) {
		t.Helper()
		up, work := filepath.Join(on, "up"), filepath.Join(on, "work")
		for _, d := range []string{up, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dir := disktest.Mount(t, "overlay", "overlay", 0, "lowerdir="+below+",upperdir="+up+",workdir="+work)
		if err := os.WriteFile(opt.Policy, []byte("rules:\n- {name: one, match: all, where: {path: "+dir+"}, limits: {"+limits+"}}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		// Where everything is mounted was read when the Holder was made.
		opt.Holder = holderFor(t)
		return Once(opt, targetOf(group))
	}
	if done, err := once(on, "read_bps: 1MiB, write_bps: 2MiB"); err != nil || len(done.Faults) > 0 || len(done.Held) != 3 {
		t.Errorf("Once() = %+v, %v", done, err)
	}
	for device, want := range map[string][2]string{lower: {"1048576", ""}, upper: {"1048576", "2097152"}} {
		n := disktest.Number(t, device)
		if r, w := throttle(base(group), "read_bps", n), throttle(base(group), "write_bps", n); r != want[0] || w != want[1] {
			t.Errorf("%s: reads %q, writes %q, want %q", device, r, w, want)
		}
	}
	memory := disktest.Tmpfs(t, "")
	if done, err := once(memory, "write_bps: 2MiB"); err != nil || len(done.Faults) != 1 || !strings.Contains(done.Faults[0].Text, "overlay on tmpfs is memory") {
		t.Errorf("Once() of writes to memory = %+v, %v", done, err)
	}
	if done, err := once(memory, "read_bps: 2MiB, write_bps: none"); err != nil || len(done.Faults) > 0 || len(done.Held) != 1 {
		t.Errorf("Once() of reads = %+v, %v", done, err)
	}
}
