package explain

import (
	"testing"

	"plimsoll/internal/host/device"
)

// TestStack: a mount that only a container sees is explained as the host's own are.
func TestStack(t *testing.T) {
	h := machine(t, v2, nil)
	s, err := h.fs.OfMount(device.Mount{FSType: "overlay", Number: device.Number{Minor: 99}, Point: "/", Upper: "/fixture/md/up"})
	if err != nil {
		t.Fatal(err)
	}
	e := h.stack("the container's /", s)
	if e.Path != "the container's /" {
		t.Errorf("path %q", e.Path)
	}
	if !e.Possible || len(e.Hard) != 1 || e.Hard[0].Name != "md0" {
		t.Errorf("possible %v, on %+v, want a limit on md0", e.Possible, e.Hard)
	}
	if modes := short(e.Modes); modes != "held held held held late" {
		t.Errorf("modes: %s", modes)
	}
	s, err = h.fs.OfMount(device.Mount{FSType: "xfs", Number: device.Number{Major: 253, Minor: 5}, Point: "/data", Root: "/sub"})
	if err != nil {
		t.Fatal(err)
	}
	if e = h.stack("/data", s); len(e.Hard) != 1 || e.Hard[0].Name != "dm-5" {
		t.Errorf("%+v, want a limit on dm-5", e)
	}
}
