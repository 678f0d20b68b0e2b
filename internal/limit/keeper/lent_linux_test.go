package keeper

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

// TestRootGroupMeanwhile: what plimsoll limit set had set in the root group before the keeper comes back with the keeper's end, unless it
// was cleared meanwhile; what it sets meanwhile is in force then.
func TestRootGroupMeanwhile(t *testing.T) {
	for _, x := range []struct {
		name string
		// before and during are what is set, in MiB a second: 0 is cleared, and of somebody else, who notes nothing, below 0.
		before, during []int64
		restart        bool
		want           string
	}{
		{"stays", []int64{6}, nil, false, "6291456"},
		{"cleared", []int64{6}, []int64{0}, false, ""},
		{"cleared, and the keeper began again", []int64{6}, []int64{0}, true, ""},
		{"changed", []int64{6}, []int64{7}, false, "7340032"},
		{"set meanwhile", nil, []int64{6}, false, "6291456"},
		{"somebody's", []int64{-5}, nil, false, "5242880"},
		{"somebody's in its place", []int64{6, -5}, []int64{0}, true, "5242880"},
	} {
		t.Run(x.name, func(t *testing.T) {
			holder := holderFor(t)
			notes := holder.Wides(t.TempDir())
			b := newBench(t, Options{Holder: holder, Notes: notes}, strings.ReplaceAll(oneRule, "DISK}", "DISK, device_wide: true}"))
			group := disktest.NewBlkioGroup(t)
			set := func(list []int64) {
				t.Helper()
				for _, mib := range list {
					if mib < 0 {
						rootPuts(t, b.number, -mib<<20)
						continue
					}
					setWide(t, holder, notes, group, b.disk, mib<<20)
				}
			}
			t.Cleanup(func() {
				b.stop() // It looks once more at what it has written, and would write it again.
				rootPuts(t, b.number, 0)
			})
			root := func(want string) {
				t.Helper()
				eventually(t, fmt.Sprintf("the root group has %q", want), func() bool { return rate("", b.number) == want })
			}
			set(x.before)
			b.k.Started(targetOf(b.group))
			root("1048576")
			eventually(t, "the keeper is done with it", func() bool { return b.said("the root group: held to") })
			set(x.during)
			root("1048576")
			if x.restart {
				b.stop()
				b.begin()
				b.k.Started(targetOf(b.group))
				eventually(t, "the container is known", func() bool { return len(b.k.Status().Containers) == 1 })
			}
			b.write("rules: []\n")
			b.k.Reload()
			root(x.want)
		})
	}
}

// rootPuts writes to the root group as somebody else would.
func rootPuts(t *testing.T, number string, bps int64) {
	t.Helper()
	if err := disktest.Group("/sys/fs/cgroup/blkio").Put("blkio.throttle.write_bps_device", fmt.Sprint(number, " ", bps)); err != nil {
		t.Error(err)
	}
}

// setWide is plimsoll limit set cgroup:GROUP --device DISK --device-wide, and limit clear for 0.
func setWide(t *testing.T, h *hold.Holder, notes *hold.Wides, group disktest.Group, disk string, bps int64) {
	t.Helper()
	r, err := target.Parse("cgroup:/" + base(group))
	if err != nil {
		t.Fatal(err)
	}
	c := limit.Change{Set: limit.Limits{WriteBPS: bps}}
	if bps == 0 {
		c = limit.Clear()
	}
	s, err := h.Scope(t.Context(), r, hold.Where{Device: disk, DeviceWide: bps > 0}, true)
	if err == nil {
		_, err = notes.Around(t.Context(), s, c, false, func() ([]hold.Done, error) { return h.Apply(t.Context(), s, c) })
	}
	if err != nil {
		t.Fatal(err)
	}
}
