package change

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/golden"
)

// onDisk is a scope of a container whose data is on the disk 8:0.
func onDisk(more ...hold.GroupSet) *hold.Scope {
	web := &target.Target{Kind: target.Container, Engine: target.Docker, Name: "web", ID: "abc"}
	e := &explain.Explanation{Possible: true, Hard: []explain.Spot{{Name: "sda", Number: device.Number{Major: 8}}}}
	return &hold.Scope{
		Target: *web, GroupSets: append([]hold.GroupSet{{Name: "container web", Target: web, Groups: &cgroup.Target{}}}, more...),
		Places: []hold.Place{{Name: "/a", Path: "/a", Explanation: e}},
	}
}

// TestKeeperNotes: a change of what a daemon holds prints the rule behind it: the one for that limit, device and container.
func TestKeeperNotes(t *testing.T) {
	held := func(k limit.Key, on device.Number, value, rule string) keeper.Limit {
		return keeper.Limit{Grant: keeper.Grant{Slot: keeper.Slot{Key: k, Device: on}, Value: value, Rule: rule}}
	}
	none, sda, other := device.Number{}, device.Number{Major: 8}, device.Number{Major: 8, Minor: 16}
	running := &keeper.Status{PID: 42, Policy: keeper.PolicyStatus{Path: "/etc/plimsoll/policy.yaml"},
		Containers: []keeper.ContainerStatus{
			{Target: "docker:other", Held: []keeper.Limit{held(limit.WriteBPS, none, "1MiB", "other")}},
			{Target: "docker:web", Held: []keeper.Limit{
				held(limit.WriteBPS, sda, "10MiB", "shop"), held(limit.WriteBPS, other, "20MiB", "another disk"), held(limit.Memory, none, "1GiB", "shop")}},
		},
		RootGroup: &keeper.ContainerStatus{Held: []keeper.Limit{held(limit.WriteBPS, sda, "30MiB", "wide")}},
	}
	writes := limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
	root := hold.GroupSet{Name: "the root group", DeviceWide: true}
	var sheet golden.Sheet
	for _, row := range []struct {
		what   string
		s      *hold.Scope
		c      limit.Change
		status *keeper.Status
		err    error
	}{
		{"set", onDisk(), writes, running, nil},
		{"cleared", onDisk(), limit.Clear(limit.WriteBPS, limit.Memory), running, nil},
		{"device-wide", onDisk(root), writes, running, nil},
		{"a limit that it does not hold", onDisk(), limit.Change{Set: limit.Limits{ReadBPS: 1 << 20}}, running, nil},
		{"no daemon", onDisk(), writes, nil, fmt.Errorf("no daemon: %w", fs.ErrNotExist)},
		{"a daemon that can't be asked", onDisk(), writes, nil, errors.New("permission denied")},
	} {
		m := &Maker{Run: "/run/plimsoll", Daemon: func() (*keeper.Status, error) { return row.status, row.err }}
		sheet.Add(row.what, strings.Join(m.keeperNotes(row.s, row.c), "\n"))
	}
	sheet.Check(t, "daemon.txt")
}

// TestProof: the command that is printed tries what was set, where it was set.
func TestProof(t *testing.T) {
	writes := limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
	volume := func(host string, users ...target.Target) *hold.Scope {
		return &hold.Scope{Target: target.Target{Kind: target.Volume, Engine: target.Docker, Name: "data", Host: host, Users: users}}
	}
	var sheet golden.Sheet
	for _, row := range []struct {
		what  string
		s     *hold.Scope
		c     limit.Change
		where hold.Where
	}{
		{"all", onDisk(), writes, hold.Where{}},
		{"no rate", onDisk(), limit.Change{Set: limit.Limits{CPUs: 1.5}}, hold.Where{}},
		{"a path that a shell would split", onDisk(), writes, hold.Where{Path: "/a b"}},
		{"a volume of it, device-wide", onDisk(), writes, hold.Where{Volume: "data", DeviceWide: true}},
		{"a volume that is used", volume("", target.Target{Name: "web"}), writes, hold.Where{}},
		{"a volume that no container uses", volume("unix:///run/docker.sock"), writes, hold.Where{}},
		{"one that no API can use", volume(""), writes, hold.Where{}},
	} {
		sheet.Add(row.what, (&Maker{Flags: " --state /srv/state"}).verifyCommand(row.s, row.c, Options{Where: row.where}))
	}
	sheet.Check(t, "proof.txt")
}

// TestWithin: a path is a folder's by its names, not by its letters.
func TestWithin(t *testing.T) {
	for _, row := range []struct {
		path, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a/", true}, {"/ab", "/a", false}, {"/x", "/", true}, {"/a/../b", "/a", false}} {
		if got := within(row.path, row.dir); got != row.want {
			t.Errorf("within(%q, %q) = %t, want %t", row.path, row.dir, got, row.want)
		}
	}
}
