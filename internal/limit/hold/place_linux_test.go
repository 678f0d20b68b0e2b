package hold

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// sleeping is a container of a daemon's, as a target with mounts; its root is the machine's.
func sleeping(t *testing.T, mounts ...target.Mount) target.Target {
	t.Helper()
	c := newDaemon(t).add(firstID)
	return target.Target{Kind: target.Container, Engine: target.OCI, Name: "web", ID: firstID, PID: c.pid, StartTime: c.start, Running: true, Mounts: mounts}
}

// TestUnlimited: what can't be limited is told with the reason and what to do instead, by a change that limits I/O and no other.
func TestUnlimited(t *testing.T) {
	_, dir := disktest.Disk(t, disktest.Options{})
	shm := disktest.Tmpfs(t, "")
	c := sleeping(t, target.Mount{Source: dir, Destination: dir, Volume: "data"}, target.Mount{Source: shm, Destination: shm}, target.Mount{Source: shm, Destination: shm, Volume: "fast"})
	h := holder(t)
	s, err := h.ScopeOf(c, Where{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(s.Places, func(g Place) bool { return g.Name == "volume data" }); i < 0 || len(s.Notes) > 0 {
		t.Errorf("places %+v, notes %q", s.Places, s.Notes)
	}
	if _, err := h.Plan(t.Context(), s, limit.Clear()); err != nil || len(s.Notes) > 0 {
		t.Errorf("clear: %v, notes %q", err, s.Notes)
	}
	for range 2 {
		if _, err := h.Plan(t.Context(), s, limit.Change{Set: limit.Limits{ReadBPS: 1 << 20}}); err != nil {
			t.Fatal(err)
		}
	}
	notes := strings.Join(s.Notes, "\n")
	for _, name := range []string{shm, "volume fast"} {
		if !strings.Contains(notes, name+" can't be limited here: tmpfs is memory") || !strings.Contains(notes, "; instead: ") {
			t.Errorf("notes %q say nothing of %s", notes, name)
		}
	}
	if strings.Count(notes, "volume fast") != 1 || strings.Contains(notes, "volume data") {
		t.Errorf("notes %q", notes)
	}
}

// TestLookVolume: a volume of this machine is explained, and what can't be is said.
func TestLookVolume(t *testing.T) {
	_, dir := disktest.Disk(t, disktest.Options{})
	h := holder(t)
	v := func(m ...target.Mount) target.Target {
		return target.Target{Kind: target.Volume, Engine: target.Docker, Name: "data", Mounts: m}
	}
	if e, err := h.LookVolume(v(target.Mount{Source: dir, Volume: "data"})); err != nil || !e.Possible || len(e.Hard) != 1 {
		t.Errorf("LookVolume() = %+v, %v", e, err)
	}
	for _, none := range []target.Target{v(), v(target.Mount{Volume: "data"})} {
		if _, err := h.LookVolume(none); err == nil || !strings.Contains(err.Error(), "shows the volume's folder only") {
			t.Errorf("LookVolume(%+v) = %v", none, err)
		}
	}
	// Where no container has it, it is on what its driver will mount.
	loop := disktest.Loop(t, disktest.Image(t, 1<<20), false)
	later := v(target.Mount{Source: dir, Volume: "data", Later: loop})
	if e, err := h.LookVolume(later); err != nil || !e.Possible || "/dev/"+e.Hard[0].Name != loop {
		t.Errorf("LookVolume(%+v) = %+v, %v", later, e, err)
	}
	if g, err := h.places(&Scope{Target: later}, Where{}); err != nil || "/dev/"+g[0].Explanation.Hard[0].Name != loop {
		t.Errorf("places(%+v) = %+v, %v", later, g, err)
	}
	later.Mounts[0].Later = "nfs::/export"
	want := "volume:docker:data can't be limited here: no container has it mounted, and until then its data (nfs::/export) is on no disk that is known; instead: start a container with the volume"
	if _, err := h.LookVolume(later); err == nil || err.Error() != want {
		t.Errorf("LookVolume(%+v) = %v, want %s", later, err, want)
	}
	elsewhere := v(target.Mount{Source: dir})
	elsewhere.Elsewhere = "its daemon runs in a virtual machine"
	var impossible *refusal.Error
	if _, err := h.LookVolume(elsewhere); !errors.As(err, &impossible) || !strings.Contains(err.Error(), elsewhere.Elsewhere) {
		t.Errorf("LookVolume() elsewhere = %v", err)
	}
}

// TestRates: only rates are set in the root group.
func TestRates(t *testing.T) {
	s := &Scope{}
	set := limit.Limits{Name: "x", ReadBPS: 1, WriteBPS: 2, ReadIOPS: 3, WriteIOPS: 4, Weight: 5, Latency: 6, Memory: 7, CPUs: 8, CPUShares: 9}
	w := s.want(GroupSet{DeviceWide: true}, limit.Change{Set: set, Remove: limit.Keys})
	want := limit.Limits{Name: "x", ReadBPS: 1, WriteBPS: 2, ReadIOPS: 3, WriteIOPS: 4}
	if w.Change.Set != want || !slices.Equal(w.Change.Remove, []limit.Key{limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS}) {
		t.Errorf("want() = %+v", w.Change)
	}
	if w := s.want(GroupSet{}, limit.Change{Set: set}); w.Change.Set != set {
		t.Errorf("want() of a container = %+v", w.Change)
	}
}

// TestLatencyWhere: a latency target does something on devices with queues only.
func TestLatencyWhere(t *testing.T) {
	on := func(spots ...explain.Spot) *Scope {
		return &Scope{Places: []Place{{Name: "volume data", Explanation: &explain.Explanation{Possible: true, Hard: spots}}}}
	}
	disk, mapped := explain.Spot{Name: "sda", Number: device.Number{Major: 8}, MQ: true}, explain.Spot{Name: "dm-0", Number: device.Number{Major: 253}}
	if err := on(disk).Latency(); err != nil {
		t.Error(err)
	}
	var impossible *refusal.Error
	if err := on(disk, mapped).Latency(); !errors.As(err, &impossible) || !strings.Contains(err.Error(), "dm-0 has no request queues") {
		t.Errorf("Latency() = %v", err)
	}
	h := holder(t)
	if _, err := h.plan(t.Context(), on(mapped), limit.Change{Set: limit.Limits{Latency: 5 * time.Millisecond}}); !errors.As(err, &impossible) {
		t.Errorf("plan() = %v", err)
	}
	// A real disk has them.
	loop := disktest.Loop(t, disktest.Image(t, 1<<20), false)
	if g, err := h.places(&Scope{}, Where{Device: loop}); err != nil || !g[0].Explanation.Hard[0].MQ {
		t.Errorf("places(%s) = %+v, %v", loop, g, err)
	}
}
