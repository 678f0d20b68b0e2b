package keeper

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/testkit/texttest"
)

// asSeen lists what is held, or would be, and what can't be, a line each.
func asSeen(s Status, l Preview) (held, planned []string) {
	lines := func(list []string, who string, grants []Grant, faults []Fault) []string {
		for _, g := range grants {
			list = append(list, fmt.Sprintf("%s: %s %s on %s (%s) wide %v", who, g.Key, g.Value, g.Device, g.Rule, g.DeviceWide))
		}
		for _, f := range faults {
			list = append(list, fmt.Sprintf("%s: %s", who, f))
		}
		return list
	}
	heldBy := func(c ContainerStatus) {
		var grants []Grant
		for _, h := range c.Held {
			grants = append(grants, h.Grant)
		}
		held = lines(held, c.Target, grants, c.Faults)
	}
	plannedFor := func(c Seen) {
		var grants []Grant
		for _, g := range c.Grants {
			grants = append(grants, g.Grant)
		}
		planned = lines(planned, c.Target, grants, c.Faults)
	}
	for _, c := range append(slices.Clone(s.Containers), s.Together...) {
		heldBy(c)
	}
	for _, c := range append(slices.Clone(l.Containers), l.Together...) {
		plannedFor(c)
	}
	if s.RootGroup != nil {
		heldBy(*s.RootGroup)
	}
	if l.RootGroup != nil {
		plannedFor(*l.RootGroup)
	}
	held, planned = lines(held, "together", nil, s.TogetherFaults), lines(planned, "together", nil, l.TogetherFaults)
	slices.Sort(held)
	slices.Sort(planned)
	return held, planned
}

// sameAsPreview compares what a keeper holds with what Look said before.
func (r *running) sameAsPreview(text string, targets ...target.Target) []string {
	r.t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	looked := Look(r.k.opt, p, targets)
	r.write(text)
	r.k.Reload()
	for _, t := range targets {
		r.k.Started(t)
	}
	var held, planned []string
	defer func() {
		if r.t.Failed() {
			r.t.Logf("held:\n%s\nplanned:\n%s", strings.Join(held, "\n"), strings.Join(planned, "\n"))
		}
	}()
	eventually(r.t, "what is held is what was planned", func() bool {
		held, planned = asSeen(r.k.Status(), looked)
		return len(held) > 0 && slices.Equal(held, planned)
	})
	return planned
}

// TestLook: what would be held is what is held then, and what can't be is said before.
func TestLook(t *testing.T) {
	b := newBench(t, Options{ClearOnStop: true}, "rules: []\n") // The root group outlives the test.
	got := strings.Join(b.sameAsPreview(b.text("rules:\n"+
		"- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB, read_bps: 5MiB}}\n"+
		"- {name: wide, match: all, where: {device: DISK, device_wide: true}, limits: {read_bps: 9MiB}}\n"+
		"- {name: slow, match: all, where: {device: DISK}, limits: {latency: 5ms, write_bps: 2MiB}}\n"+
		"- {name: mine, match: all, where: {device: DISK}, limits: {latency: 5ms, memory: 64MiB}}\n"+
		"- {name: none, match: {name: nobody}, limits: {memory: 64MiB}}\n"+
		"- {name: shop, match: all, where: {device: DISK}, together: true, limits: {write_iops: 500}}\n"), targetOf(b.group)), "\n")
	texttest.Has(t, got, []string{"write_bps 1MiB", "(wide) wide true", "write_iops 500", "rule slow can't be kept: latency", "rule mine can't be kept", "rule shop can't be kept: one limit for several containers"})
	if strings.Contains(got, "memory 64MiB") || strings.Contains(got, "2MiB") {
		t.Errorf("limits of rules that can't be kept:\n%s", got)
	}
}

// TestLookTaken: a device with another owner in the root group is a fault before the daemon runs, too. --check showed a limit that
// the daemon would set.
func TestLookTaken(t *testing.T) {
	b := newBench(t, Options{ClearOnStop: true}, "rules: []\n")
	number, err := device.ParseNumber(b.number)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.k.opt.DeviceLimits.AsDaemon(t.Context(), t.TempDir(), func(r *hold.DaemonRecords) error {
		return r.Record([]hold.DeviceLimit{{
			Device: number, Disk: filepath.Base(b.disk), Limits: limit.Limits{ReadBPS: 1 << 20},
			Rules: []hold.RuleLimit{{Key: limit.ReadBPS, Rule: "theirs", Since: time.Now()}},
		}})
	}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(b.sameAsPreview(b.text("rules:\n"+
		"- {name: wide, match: all, where: {device: DISK, device_wide: true}, limits: {read_bps: 9MiB}}\n"), targetOf(b.group)), "\n")
	texttest.Has(t, got, []string{"wide false", "the root group: rule wide can't be kept"})
	if strings.Contains(got, "wide true") {
		t.Errorf("a limit in the root group is planned:\n%s", got)
	}
}

// TestLookTogether: what several have together is planned, too.
func TestLookTogether(t *testing.T) {
	h, _ := v2Holder(t, "/shop/web", "/shop/db", "/apart/a", "/apart2/b")
	r := start(t, Options{Holder: h, Check: hour}, "rules: []\n")
	of := func(group string) target.Target {
		return target.Target{Kind: target.Cgroup, Name: group, Running: true}
	}
	got := strings.Join(r.sameAsPreview("rules:\n"+
		"- {name: shop, match: {name: \"/shop/*\"}, together: true, limits: {memory: 100MiB}}\n"+
		"- {name: apart, match: {name: \"/apart*\"}, together: true, limits: {memory: 50MiB}}\n",
		of("/shop/web"), of("/shop/db"), of("/apart/a"), of("/apart2/b")), "\n")
	texttest.Has(t, got, []string{"the group /shop: memory 100MiB", "cgroup:/shop/db: memory 100MiB", "together: rule apart can't be kept: its 2 containers have no common control group"})
}
