package hold

import (
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// TestPastedOwner: the root group's change offers to clear what is the target's alone, by a name that holds; and such names are the same
// once they were noted.
func TestPastedOwner(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.DeviceLimits(t.TempDir())
	s, err := h.Scope(t.Context(), ref(t, group), Where{Device: loop, DeviceWide: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Devices()[0]
	n := DeviceLimit{For: "cgroup:/another", Device: d.Number, Disk: d.Name, Limits: limit.Limits{WriteBPS: 1 << 20}, Boot: w.boot}
	n.Medium, _ = mediumOf(w.fs, n.Device)
	remove := limit.Change{Remove: []limit.Key{limit.WriteBPS}}
	for _, name := range hostileGroups {
		s.Target.Name = strings.TrimPrefix(name, "cgroup:")
		if s.Owner() != name {
			t.Fatalf("the target is %q, want %q", s.Owner(), name)
		}
		done, err := w.change(t.Context(), s, remove, recorded{all: []DeviceLimit{n}}, true, func() ([]Done, error) { return []Done{{GroupSet: GroupSet{DeviceWide: true}}}, nil })
		if err != nil {
			t.Fatal(err)
		}
		var told string
		for _, x := range done {
			told += strings.Join(x.Notes, "\n")
		}
		if got := pasted(t, told, "plimsoll limit clear ", "\n"); got != name {
			t.Errorf("the command to clear %q names %q", name, got)
		}

		if err := w.written(t.Context(), nil, []DeviceLimit{w.recordOf(s.Owner(), d, limit.Limits{WriteBPS: 1 << 20})}); err != nil {
			t.Fatal(err)
		}
		list, err := w.List()
		if err != nil || len(list) != 1 || list[0].For != name {
			t.Errorf("List() = %+v, %v; want one for %q", list, err, name)
		}
	}
}
