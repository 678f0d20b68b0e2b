package docker

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// testDockerIOLimits: the daemon is given the rates when it makes the container, for the whole disk under the place, and the
// kernel has them.
func testDockerIOLimits(t *testing.T, l *labDaemon) {
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs blkio of control groups of version 1")
	}
	loop, dir := disktest.Disk(t, disktest.Options{Size: 64 << 20})
	e := l.engine(nil)
	spec := engine.Spec{Place: place.Spec{Name: "p", Kind: place.Bind, Path: dir}, Limits: limit.Limits{Name: "slow", ReadBPS: 2 << 20, WriteBPS: 1 << 20, ReadIOPS: 200, WriteIOPS: 100}}
	s := l.open(t, e, spec)
	if err := engine.CheckHold(s.Session, ""); err != nil {
		t.Fatalf("CheckHold: %v", err)
	}
	r := l.inspect(t, s).HostConfig.Resources
	if all := r.BlkioDeviceWriteBps; len(all) != 1 || all[0].Rate != 1<<20 {
		t.Errorf("the daemon was asked for %v, want 1048576 on one device", all)
	} else if path := all[0].Path; path != loop && !l.podman { // Podman names any node with the number.
		t.Errorf("the daemon was asked for a limit on %s, want %s", path, loop)
	}
	h, err := engine.HoldAll(t.Context(), []engine.Session{s.Session}, "")
	if err != nil {
		t.Fatal(err)
	}
	applied := h.Of(0).Applied
	if len(applied) != 4 {
		t.Fatalf("applied %v, want four limits", applied)
	}
	if got := applied[1]; got.Value != 1<<20 || got.By != limit.ByEngine {
		t.Errorf("applied %+v, want 1048576 by the engine", got)
	}
	if got, want := applied[1].Number.String(), disktest.Number(t, loop); got != want {
		t.Errorf("applied on %s, want %s", got, want)
	}
	escape := h.Of(0).Escape("buffered")
	if escape == nil || escape.Closed {
		t.Fatalf("escapes %+v, want that buffered writes do", h.Of(0).Escapes)
	}
	if !strings.Contains(escape.Why, "flusher") {
		t.Errorf("buffered writes escape: %q, want the flusher named", escape.Why)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	// The daemon's limits stay: they belong to the container.
	if h, err = engine.HoldAll(t.Context(), []engine.Session{s.Session}, ""); err != nil || h.Of(0).Of(limit.WriteBPS) != 1<<20 {
		t.Errorf("the second hold: %+v, %v", h.Of(0), err)
	}
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	volume := spec
	volume.Place = place.Spec{Name: "v", Kind: place.Volume, DriverOpts: map[string]string{"type": "none", "o": "bind", "device": dir}}
	if err := engine.CheckHold(l.open(t, e, volume).Session, ""); err != nil {
		t.Errorf("a volume in a folder: %v", err)
	}
	layer := spec
	layer.Place = place.Spec{Name: "l", Kind: place.Layer}
	if err := engine.CheckHold(l.open(t, e, layer).Session, ""); err != nil {
		t.Errorf("the container's layer: %v", err)
	}
	for _, x := range []struct {
		limits limit.Limits
		place  place.Spec
		want   string
	}{
		{limit.Limits{WriteBPS: 1 << 20}, place.Spec{Kind: place.Tmpfs}, "the place is memory"},
		{limit.Limits{Weight: 200}, spec.Place, "no group is charged for the I/O there"}, // The device is a loop device, whose threads do it.
		{limit.Limits{Latency: 5 * time.Millisecond}, spec.Place, "version 1 of cgroups has no latency targets"},
	} {
		bad := engine.Spec{ID: testID(), Place: x.place, Limits: x.limits}
		s, err := e.Open(t.Context(), bad)
		if err == nil {
			err = engine.CheckHold(s, "")
			if cerr := s.Close(t.Context()); cerr != nil {
				t.Error(cerr)
			}
		}
		var u *refusal.Error
		if !errors.As(err, &u) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v in %s: %v, want %q", x.limits, x.place.Kind, err, x.want)
		}
		l.wantNothing(t, bad.ID)
	}
}
