package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// bfqWeight reads a device's weight in a group of version 1, "" for none.
func bfqWeight(t *testing.T, group disktest.Group, number string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(group), "blkio.bfq.weight_device"))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), number+" "); ok {
			return v
		}
	}
	return ""
}

// TestWeight: a weight of a policy is a fault that says so while nothing divides the disk by weight; with bfq it is held like any limit,
// and goes with its rule.
func TestWeight(t *testing.T) {
	const rule = "rules:\n- {name: share, match: all, where: {device: DISK}, limits: {weight: 300}}\n"
	needV1(t)
	// A loop device on a disk, on which the weight goes; that is in memory, so that it stands on none of the machine's.
	disk, dir := disktest.Disk(t, disktest.Options{Memory: true})
	disktest.KeepScheduler(t, disk)
	file := filepath.Join(dir, "image")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 4<<20)); err != nil {
		t.Fatal(err)
	}
	above := disktest.Loop(t, file, true) // Direct, so that its I/O is charged to the group.
	number, group := disktest.Number(t, disk), disktest.NewBlkioGroup(t)
	text := func(policy string) string { return strings.ReplaceAll(policy, "DISK", above) }
	r := start(t, Options{Holder: holderFor(t), Check: hour}, text(rule))
	r.k.Started(targetOf(group))
	eventually(t, "the fault is told", func() bool {
		c := r.k.Status().Containers
		return len(c) == 1 && len(c[0].Faults) == 1
	})
	c := r.k.Status().Containers[0]
	f := c.Faults[0]
	if f.Rule != "share" {
		t.Errorf("the fault is of the rule %s", f.Rule)
	}
	if !strings.Contains(f.Text, "weight") || !strings.Contains(f.Text, "bfq") {
		t.Errorf("nothing divides the disk by weight: %q", f.Text)
	}
	if len(c.Held) > 0 {
		t.Errorf("nothing divides the disk by weight, and held are %+v", c.Held)
	}
	disktest.Schedule(t, disk, "bfq")
	before := bfqWeight(t, group, number)
	has := func(want string) {
		t.Helper()
		eventually(t, "the weight is "+want, func() bool { return bfqWeight(t, group, number) == want })
	}
	r.k.Reload()
	has("300")
	eventually(t, "it is told", func() bool {
		c := r.k.Status().Containers
		return len(c) == 1 && len(c[0].Held) == 1 && len(c[0].Faults) == 0
	})
	if h := r.k.Status().Containers[0].Held[0]; h.Rule != "share" || h.Key != "weight" || h.Device.String() != number {
		t.Errorf("held: %+v", h)
	}
	// Somebody changes it.
	if err := group.Put("blkio.bfq.weight_device", number+" 50"); err != nil {
		t.Fatal(err)
	}
	has("300")
	r.write(text(strings.Replace(rule, "300", "700", 1)))
	r.k.Reload()
	has("700")
	r.write("rules: []\n")
	r.k.Reload()
	has(before)
}
