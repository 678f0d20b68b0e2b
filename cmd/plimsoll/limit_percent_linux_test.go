package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/ceiling"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/testkit/disktest"
)

// TestLimitPercentKeys: a percentage of each of the four rates is of what a real run has measured of that one.
func TestLimitPercentKeys(t *testing.T) {
	l := newBadLabOn(t, disktest.Options{Size: 256 << 20, Direct: true}) // A disk in memory is no measure of one.
	plan := "name: ceiling\nworkloads: {w: {rw: randrw, rwmixread: 75, bs: 16KiB, iodepth: 4, direct: true, size: 16MiB, number_ios: 1024}}\nengines: [host]\nplaces: {disk: {kind: dir, path: " + l.path + "}}\nblocks: 1\n"
	if r := plimsoll(t, t.Context(), l.state, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("run: status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, l.state)
	// Counted from the records here, each of the four by its own name.
	rates := map[string][]float64{}
	for _, trial := range trials {
		on, _, ok := ceiling.Rates(trial)
		if !ok || len(trial.Results) != 1 {
			t.Fatalf("%s has %d results that say nothing of %s", trial.Key, len(trial.Results), l.loop)
		}
		if !new(ceiling.Measured).Counts(trial, on, on) {
			continue // A busy machine's, in doubt.
		}
		r := trial.Results[0]
		for _, c := range r.Classes {
			for key, n := range map[string]int64{c.Name + "_bps": int64(c.Bytes), c.Name + "_iops": int64(c.Ops)} {
				rates[key] = append(rates[key], float64(n)/r.Elapsed.Seconds())
			}
		}
	}
	most := map[string]float64{} // The cell's and its control's, which are one.
	for key, r := range rates {
		slices.Sort(r)
		most[key] = stats.Median(r)
	}
	table := []struct {
		key     limit.Key
		flag    string
		percent int
	}{
		{limit.ReadBPS, "--read-bps", 10}, {limit.WriteBPS, "--write-bps", 20}, {limit.ReadIOPS, "--read-iops", 30}, {limit.WriteIOPS, "--write-iops", 40},
	}
	// The base of a policy's percentages.
	ceilings, err := ceiling.Named(l.state, filepath.Base(l.loop))
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got int64, want float64) {
		t.Helper()
		if math.Abs(float64(got)-want) > 2+want/1000 {
			t.Errorf("%s is %d, want %.0f", what, got, want)
		}
	}
	args := []string{"set", l.name, "--device", l.loop}
	for _, row := range table {
		near("the most of "+string(row.key), *ceilings.Whole(row.key), most[string(row.key)])
		args = append(args, row.flag, fmt.Sprintf("%d%%", row.percent))
	}
	l.do(t, exitDone, args...)
	var got [4]int64
	if _, err := fmt.Sscanf(l.kernel(t), "%d|%d|%d|%d", &got[0], &got[1], &got[2], &got[3]); err != nil {
		t.Fatalf("the kernel has %s: %v", l.kernel(t), err)
	}
	for i, row := range table {
		near(fmt.Sprintf("%d %% of %s", row.percent, row.key), got[i], most[string(row.key)]*float64(row.percent)/100)
	}
	// They are four numbers, so that one in another's place shows.
	if slices.Sort(got[:]); len(slices.Compact(got[:])) != 4 {
		t.Errorf("the limits are %v", got)
	}
}

// TestLimitPercentForeign: a percentage is never of what a limit let through that was set around plimsoll.
func TestLimitPercentForeign(t *testing.T) {
	t.Parallel()
	l, loop, dir, says := deviceWideLab(t)
	name := "cgroup:" + string(disktest.NewBlkioGroup(t))
	says(exitDone, nil, "set", name, "--path", dir, "--write-bps", "32MiB", "--device-wide")
	plan := "name: ceiling\nworkloads: {big: {rw: write, bs: 256KiB, iodepth: 4, direct: true, size: 16MiB, runtime: 1s}}\nengines: [host]\nplaces: {disk: {kind: dir, path: " + dir + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), l.state, plan, "run", "-")
	if words := "a limit that this cell doesn't have was in force, write_bps=32MiB on " + filepath.Base(loop); r.status != exitDone || !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), words) {
		t.Fatalf("run: status %d, without %q: %s%s", r.status, words, r.stdout, r.stderr)
	}
	says(exitDone, nil, "clear", name)
	text := says(exitUsage, []string{"on it are in doubt", "by the check foreign-limit: a limit was in force, and the figure shows that limit; clear it and measure again"}, "set", name, "--path", dir, "--write-bps", "50%")
	if strings.Contains(text, "the most that was measured") {
		t.Errorf("a throttled trial counts: %s", text)
	}
	// Measurements without it count.
	if r := plimsoll(t, t.Context(), l.state, plan, "run", "-"); r.status != exitDone || strings.Contains(r.stdout, "cell doesn't have") {
		t.Fatalf("run without a limit: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
}
