package change

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/golden"
)

// TestText: what is printed of changes. A path with a line break in it is quoted, on its line, and of the root group the rates are said,
// which are all that it takes.
func TestText(t *testing.T) {
	forged := "/da\x1b[31mta\nplimsoll: fine"
	place := hold.Place{Name: forged, Path: forged, Explanation: &explain.Explanation{Possible: true, Hard: []explain.Spot{{Name: "sda", Number: device.Number{Major: 8}}}}}
	web, unit := hold.GroupSet{Name: "container web"}, hold.GroupSet{Name: "unit:backup.service", Unit: "backup.service"}
	root := hold.GroupSet{Name: "the root group", DeviceWide: true}
	daemons := hold.GroupSet{Name: "the root group, for vda (254:0)", DeviceWide: true, For: "plimsoll daemon of /run/x"}
	edit := &cgroup.Diff{Edits: []cgroup.Edit{{File: "/cg/io.max", Text: []string{"8:0 wbps=1048576"}, Was: []string{"8:0 wbps=max"}}}}
	set := limit.Limits{WriteBPS: 10_000_000, Memory: 256 << 20, CPUs: 1}
	done := func(p hold.GroupSet, more func(*hold.Done)) hold.Done {
		d := hold.Done{GroupSet: p, Diff: &cgroup.Diff{}, Writes: 1}
		if more != nil {
			more(&d)
		}
		return d
	}
	rates := limit.Limits{WriteBPS: 1 << 20, WriteIOPS: 100}
	const rule = "rules:\n  - name: web\n    limits: {write_bps: 1MiB}\n"
	var sheet golden.Sheet
	for _, row := range []struct {
		what string
		r    Result
	}{
		{"set", Result{Set: set, Done: []hold.Done{done(web, nil), done(root, nil), done(unit, func(d *hold.Done) { d.Properties = []string{"CPUQuota=100%"} })},
			Policy: rule, policy: "/etc/plimsoll/policy.yaml", verify: "plimsoll limit verify web --state /srv/state"}},
		{"set, of a foreign name", Result{Scope: &hold.Scope{Places: []hold.Place{place}, Notes: []string{forged + ": writes are NOT held"}}, Set: rates, Implied: rates.Implied(impliedSizes, 0)}},
		{"set, and stored", Result{Set: rates, Done: []hold.Done{done(web, func(d *hold.Done) { d.Kept = "docker 29.6" })}}},
		{"unchanged", Result{Set: rates, Done: []hold.Done{done(web, func(d *hold.Done) { d.Writes = 0 })}}},
		{"cleared where there was none", Result{Done: []hold.Done{done(web, func(d *hold.Done) { d.Writes = 0 })}}},
		{"cleared of a daemon's", Result{Done: []hold.Done{
			done(daemons, func(d *hold.Done) { d.Restored = limit.Limits{WriteBPS: 7 << 20} }),
			done(daemons, func(d *hold.Done) { d.Writes, d.Restored = 0, limit.Limits{WriteBPS: 7 << 20} }),
			done(daemons, func(d *hold.Done) { d.Writes, d.Notes = 0, []string{"write_bps=8MiB stays"} }),
		}}},
		{"planned, with nothing to write", Result{DryRun: true, Done: []hold.Done{
			done(web, func(d *hold.Done) { d.Writes = 0 }), done(daemons, func(d *hold.Done) { d.Writes, d.Restored = 0, limit.Limits{WriteBPS: 7 << 20} })}}},
		{"planned", Result{DryRun: true, Set: rates, Policy: rule, verify: "none", Done: []hold.Done{done(web, func(d *hold.Done) { d.Diff = edit }),
			done(unit, func(d *hold.Done) { d.Writes, d.Properties = 0, []string{"CPUQuota=100%"} }), done(root, func(d *hold.Done) { d.Writes = 0 })}}},
		{"cleared", Result{Remove: []limit.Key{limit.Memory}, Done: []hold.Done{done(web, func(d *hold.Done) {
			d.Forgot, d.Notes = []string{"write_bps=1MiB on /dev/sda"}, []string{"something is not known"}
			d.Stored = &hold.Stored{By: "docker 20.10", Limits: []string{"memory=1GiB"}, Fix: "recreate the container without it"}
		})}}},
	} {
		if row.r.Scope == nil {
			row.r.Scope = &hold.Scope{}
		}
		sheet.Add(row.what, row.r.Text())
	}
	sheet.Check(t, "text.txt")
}
