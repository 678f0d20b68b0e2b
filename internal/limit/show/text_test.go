package show

import (
	"errors"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/golden"
)

// TestText: what is printed of a target's limits, of the root group's, of none, and of the whole machine. A group's name with an escape
// sequence or invalid bytes is shown as a line can take it: it was shown without them, which names a group that does not exist.
func TestText(t *testing.T) {
	sda, loop := device.Number{Major: 8}, device.Number{Major: 7, Minor: 1}
	name := func(d device.Number) string {
		return map[device.Number]string{sda: "sda", loop: "loop1"}[d] + " (" + d.String() + ")"
	}
	rates, memory := limit.Limits{WriteBPS: 10_000_000, ReadIOPS: 500}, limit.Limits{Memory: 1 << 30}
	state := func(group string, l limit.Limits, devices map[device.Number]limit.Limits) cgroup.State {
		return cgroup.State{Group: group, Limits: l, Devices: devices}
	}
	web := Shown{
		GroupSet: hold.GroupSet{Name: "container web"},
		Groups: []cgroup.State{
			state("/docker/1", limit.Limits{CPUs: 1.5}, map[device.Number]limit.Limits{sda: rates, loop: {WriteBPS: 1 << 20}}),
			state("/docker/1/below", limit.Limits{}, map[device.Number]limit.Limits{sda: rates}),
		},
		Above:  []cgroup.State{state("/docker", memory, map[device.Number]limit.Limits{sda: {WriteBPS: 20 << 20}})},
		Places: map[device.Number][]string{sda: {"its own layer", "/srv"}},
		Stored: &hold.Stored{By: "docker 29.6", Limits: []string{"memory=1GiB"}, Fix: "recreate the container without it"},
		Notes:  []string{"something is not known"},
	}
	deviceLimit := func(w hold.DeviceLimit, now limit.Limits) DeviceLimit { return DeviceLimit{DeviceLimit: w, Now: now} }
	inRoot := []DeviceLimit{
		deviceLimit(hold.DeviceLimit{For: "volume:docker:data", Device: loop, Disk: "loop1", Limits: rates}, rates),
		deviceLimit(hold.DeviceLimit{For: "cgroup:/backup", Device: loop, Disk: "loop1", Limits: rates}, limit.Limits{}),
	}
	foreign := "/r\x1b[31mv\xffx"
	var sheet golden.Sheet
	for _, row := range []struct {
		what string
		text interface{ Text() string }
	}{
		{"a target", &Answer{Scope: &hold.Scope{Notes: []string{"on sda: a note"}}, Shown: []Shown{web}, DeviceLimits: inRoot, name: name}},
		{"no limits", &Answer{Scope: &hold.Scope{}, Shown: []Shown{{GroupSet: hold.GroupSet{Name: "container web"}}}, name: name}},
		{"none of its own", &Answer{Scope: &hold.Scope{}, Shown: []Shown{{GroupSet: hold.GroupSet{Name: "container web"}, Above: web.Above}}, name: name}},
		{"a volume that has gone", &Answer{Scope: &hold.Scope{Notes: []string{errors.New("there is no volume data").Error()}}, DeviceLimits: inRoot, name: name}},
		{"nothing in the root group", &Answer{name: name}},
		{"the machine", &List{Limited: []Limited{
			{Target: "docker:web", Group: "/docker/1", Device: device.Number{Major: 8}, DeviceName: "sda", words: rates.Words(), By: "plimsoll limit set, " + time.DateTime},
			{Target: groupName("/batch"), Group: "/batch", words: memory.Words(), By: byAnybody},
			{Target: groupName("/system.slice/backup.service"), Group: "/system.slice/backup.service", words: "cpus=1.5", By: bySystemd},
			{Target: groupName("/"), Group: "/", Device: device.Number{Major: 7, Minor: 1}, DeviceName: "loop1", words: "write_bps=1MiB", By: byAnybody},
			{Target: groupName(foreign), Group: foreign, words: "write_bps=1MiB", By: byAnybody},
		}, Notes: []string{"something is not known"}}},
		{"a machine without limits", &List{}},
	} {
		sheet.Add(row.what, row.text.Text())
	}
	sheet.Check(t, "text.txt")
}
