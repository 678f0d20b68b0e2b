package keeper

import (
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/golden"
)

// TestText: what is printed of a keeper's state, and of what a policy would give.
func TestText(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	rate := Grant{Slot: Slot{Key: limit.WriteBPS, Device: device.Number{Major: 8}}, DeviceName: "sda", Value: "1MiB", Rule: "everybody"}
	memory := Grant{Slot: Slot{Key: limit.Memory}, Value: "1GiB", Rule: "gold"}
	deviceWide, shared := rate, rate
	deviceWide.DeviceWide, shared.Together = true, true
	fault := Fault{Rule: "gold", Text: "there is no volume data"}
	escape := func(data string) hold.Escape {
		return hold.Escape{Data: data, Modes: []string{"buffered"}, Why: "version 1 writes back in the root group"}
	}
	var escapes []hold.Escape
	for _, data := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g"} {
		escapes = append(escapes, escape(data))
	}
	status := Status{
		PID: 42, Since: ago(time.Hour), Events: 3, Checks: 1, Writes: 2, Drift: 1, Others: 4, Unlisted: "podman does not answer",
		Policy:    PolicyStatus{From: "/etc/plimsoll/policy.yaml", Rules: 2, Loaded: ago(time.Minute), Fault: "line 3: no such key"},
		Engines:   []Engine{{Name: "docker", Connected: true, Since: ago(time.Minute)}, {Name: "podman", Since: ago(time.Second), Error: "gone"}},
		LastCheck: Tick{At: ago(time.Second), Took: 1500 * time.Microsecond, Groups: 2},
	}
	empty := status
	status.Containers = []ContainerStatus{{Target: "docker:web", Held: []Limit{{Grant: rate, Since: ago(time.Minute), Was: "10MiB", Drift: 1}, {Grant: memory, Since: ago(time.Minute)}},
		Faults: []Fault{fault}, Unlimited: []string{"/tmp is memory"}, Escapes: escapes, Elsewhere: []string{"1 process of it is in the group /x"}}}
	status.RootGroup = &ContainerStatus{Target: "the root group", Held: []Limit{{Grant: deviceWide, Since: ago(time.Minute)}}}
	status.Together = []ContainerStatus{{Target: "rule gold", Held: []Limit{{Grant: shared, Since: ago(time.Minute)}}}}
	status.TogetherFaults = []Fault{fault}
	preview := Preview{Policy: "policy.yaml", Rules: 2, Unmatched: []string{"gold"},
		Containers: []Seen{
			{Target: "docker:web", Rules: []string{"everybody"}, Grants: []GrantedSeen{{Grant: rate, Now: "10MiB"}, {Grant: memory, Same: true}}, Faults: []Fault{fault}, Escapes: escapes[:1]},
			{Target: "docker:a\nb\x1b[1m"},
		},
		RootGroup: &Seen{Target: "the root group", Grants: []GrantedSeen{{Grant: deviceWide}}},
	}
	var sheet golden.Sheet
	sheet.Add("a keeper", status.Text(now))
	sheet.Add("one that holds nothing", empty.Text(now))
	sheet.Add("a policy that is checked", preview.Text())
	sheet.Check(t, "text.txt")
}
