package show

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// TestWhoSetStored: an engine set what it has stored, and not what has another value since.
func TestWhoSetStored(t *testing.T) {
	o := &owner{ref: "docker:web", stored: &hold.Stored{By: "docker 20.10", Limits: []string{"memory=256MiB", "write_bps=1MiB on /dev/sda", "write_bps=2MiB on /dev/sdb", "cpus=0.5"}}}
	for _, row := range []struct {
		key         limit.Key
		value, want string
	}{
		{limit.Memory, "256MiB", "docker 20.10 has it stored"},
		{limit.Memory, "128MiB", byAnybody + "; docker 20.10 has stored memory=256MiB"},
		{limit.WriteBPS, "2MiB", "docker 20.10 has it stored"},
		{limit.WriteIOPS, "100", byAnybody},
		{limit.CPUs, "0.5", "docker 20.10 has it stored"},
	} {
		if got := whoSet(Limited{Group: "/docker/1", Key: row.key, Value: row.value}, nil, o, nil, nil); got != row.want {
			t.Errorf("%s=%s: %q, want %q", row.key, row.value, got, row.want)
		}
	}
}

// TestWhoSetBelow: a group below a container's own has a limit of the same kind as plimsoll daemon holds the container to, from another program.
func TestWhoSetBelow(t *testing.T) {
	none, sda := device.Number{}, device.Number{Major: 8}
	held := func(k limit.Key, on device.Number, value string) keeper.Limit {
		return keeper.Limit{Grant: keeper.Grant{Slot: keeper.Slot{Key: k, Device: on}, Value: value, Rule: "web"}}
	}
	o := &owner{ref: "docker:web", groups: []string{"/docker/1"}, held: []keeper.Limit{held(limit.WriteBPS, sda, "1MiB"), held(limit.Memory, none, "256MiB")}}
	const daemon = "plimsoll daemon, rule web"
	for _, row := range []struct {
		group  string
		key    limit.Key
		device device.Number
		value  string
		want   string
	}{
		{"/docker/1", limit.WriteBPS, sda, "1MiB", daemon},
		{"/docker/1/below", limit.WriteBPS, sda, "1MiB", daemon},
		{"/docker/1/below", limit.WriteBPS, sda, "9MiB", byAnybody},
		{"/docker/1", limit.WriteBPS, sda, "9MiB", byAnybody},
		{"/docker/1/below", limit.WriteBPS, device.Number{Major: 8, Minor: 16}, "1MiB", byAnybody},
		{"/docker/1", limit.Memory, none, "256MiB", daemon},
		{"/docker/1/below", limit.Memory, none, "64MiB", byAnybody},
	} {
		if got := whoSet(Limited{Group: row.group, Device: row.device, Key: row.key, Value: row.value}, nil, o, nil, nil); got != row.want {
			t.Errorf("%s of %s on %s in %s: %q, want %q", row.key, row.value, row.device, row.group, got, row.want)
		}
	}
	o.ended = true
	x := Limited{Group: "/docker/1", Device: sda, Key: limit.WriteBPS, Value: "1MiB"}
	if got, want := whoSet(x, nil, o, nil, nil), "plimsoll daemon, which has ended, rule web"; got != want {
		t.Errorf("of a daemon that has ended: %q, want %q", got, want)
	}
}
