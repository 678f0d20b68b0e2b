package row

import (
	"context"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
)

// TestMerged: of small writes through the page cache, what counts is how many came to the device. Where the kernel has made fewer of them,
// neither what the application saw nor how fast those few came says that a limit doesn't hold.
func TestMerged(t *testing.T) {
	const asked, all, block = 200, 1000, 4096
	// So many writes come at a rate, in writes a second.
	at := func(rate, n float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			return block * min(rate, max(0, n-at.Seconds()*rate)/sampleEvery.Seconds())
		}
	}
	add := func(a, b func(time.Duration) float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 { return a(at) + b(at) }
	}
	none := steady(0)
	const merged = "the application made 1 k writes of 4 KiB, each with a gap to the next, but at most 30 came to the device: the file system or the kernel has made larger ones of them"
	for _, row := range []struct {
		name        string
		mode        Mode
		app, device func(time.Duration) float64
		group, root func(time.Duration) float64 // nil: not counted
		version2    bool
		elapsed     float64 // of the application, in seconds
		want        judge.Verdict
		words       string
	}{
		{"the sync is held", BufferedSync, at(200, all), at(200, all), at(200, all), none, false, 5, judge.Held, "saw 200 IOPS"},
		{"the sync is not held", BufferedSync, at(2000, all), at(2000, all), at(2000, all), none, false, 0.5, judge.NotHeld, "saw 2 k IOPS (10 times)"},
		{"others' threads wrote it", BufferedSync, at(2000, all), at(2000, all), none, at(2000, all), false, 0.5, judge.NotHeld, "saw 2 k IOPS (10 times)"},
		{"the sync's few are in the limit", BufferedSync, at(2000, all), at(60, 30), at(60, 30), none, false, 0.5, judge.Unproved, merged},
		{"it is not counted, and they are few", BufferedSync, at(2000, all), at(60, 30), nil, nil, false, 0.5, judge.Unproved, merged},
		{"few by the group's count, beside another", BufferedSync, at(2000, all), at(5000, 2500), at(60, 30), none, false, 0.5, judge.Unproved, merged},
		{"half, at the limit", BufferedSync, at(400, all), at(200, 500), at(200, 500), none, false, 2.5, judge.Held, "saw 200 IOPS"},
		{"half, and still too many", BufferedSync, at(2000, all), at(1000, 500), at(1000, 500), none, false, 0.5, judge.NotHeld, "saw 1 k IOPS (5 times)"},
		{"nothing came", BufferedSync, at(200, all), none, none, none, false, 5, judge.Unproved, "the rest went elsewhere, or the device does not count it"},
		{"the flusher is held", Buffered, at(10000, all), at(200, all), none, at(10000, all), false, 0.1, judge.Held, "saw 200 IOPS"},
		{"the flusher is not held", Buffered, at(10000, all), at(5000, all), none, at(5000, all), false, 0.1, judge.NotHeld, "saw 5 k IOPS (25 times)"},
		{"the flusher's few come at once", Buffered, at(10000, all), at(300, 30), none, at(300, 30), false, 0.1, judge.Unproved, merged},
		{"the flusher's few, within the slices", Buffered, at(10000, all), at(600, 30), none, at(600, 30), false, 0.1, judge.Unproved, merged},
		{"the flusher's few are held", Buffered, at(10000, all), at(200, 600), none, at(200, 600), false, 0.1, judge.Held, "saw 200 IOPS"},
		{"charged to who wrote", Buffered, at(10000, all), at(5000, all), at(5000, all), nil, true, 0.1, judge.NotHeld, "saw 5 k IOPS (25 times)"},
		// Nobody knows how many of what came was the row's: perhaps 30.
		{"others in nobody's group", Buffered, at(10000, all), at(5000, 20000), none, at(5000, 20000), false, 0.1, judge.Unproved, "others used the device too"},
		{"others, and few are charged", Buffered, at(10000, all), add(at(300, 30), at(5000, 20000)), at(300, 30), nil, true, 0.1, judge.Unproved, "others used the device too"},
		{"a sync beside others, and few are charged", BufferedSync, at(2000, all), at(5000, 20000), at(60, 30), nil, true, 0.5, judge.Unproved, "others used the device too"},
		{"a sync that is charged, beside others", BufferedSync, at(2000, all), at(5000, 20000), at(2000, all), nil, true, 0.5, judge.NotHeld, "saw 2 k IOPS"},
		{"a sync's few, charged to who wrote", BufferedSync, at(2000, all), at(60, 30), at(60, 30), nil, true, 0.5, judge.Unproved, merged},
	} {
		r := Row{Finding: judge.Finding{Key: limit.WriteIOPS, Asked: asked}, Mode: row.mode, BS: block}
		p := points(10*time.Second, row.device)
		if row.group != nil {
			root := row.root
			if root == nil {
				root = none
			}
			p = charged(p, row.group, root)
			for i := range p {
				if row.version2 {
					p[i].charged.root = nil
				}
			}
		}
		_, flushed := r.course(p, forever, byDevice).untilLast()
		elapsed := time.Duration(row.elapsed * float64(time.Second))
		r.judge(&measured{
			result: &workload.Result{Elapsed: elapsed, Samples: samples(elapsed, row.app)}, samples: p,
			device:  &workload.DiskDelta{Writes: p[len(p)-1].writes},
			flushed: flushed,
		})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s; want %s with %q", row.name, r.Words(), row.want, row.words)
		}
	}
}

// TestSaysNothing: a mode that was named and says nothing of a limit has a row that says so; one that was not has none.
func TestSaysNothing(t *testing.T) {
	r := Request{Asked: map[limit.Key]int64{limit.ReadBPS: 1 << 20, limit.ReadIOPS: 100}, Modes: []Mode{DSync, BufferedSync}}
	told := 0
	r.OnRow = func(Row) { told++ }
	rows, err := Run(context.Background(), r)
	if err != nil || len(rows) != 4 || told != 4 {
		t.Fatalf("%d rows, %d told, %v; want 4", len(rows), told, err)
	}
	for _, row := range rows {
		if row.Verdict != judge.Unproved || !strings.Contains(row.Words(), "reads don't sync, so the mode "+string(row.Mode)+" can't test them: use direct or buffered") {
			t.Errorf("%s %s: %s", row.Key, row.Mode, row.Words())
		}
	}
	if r.Rows() != 0 {
		t.Errorf("%d rows are tried, want none", r.Rows())
	}
	r.Modes = nil
	if r.Rows() != 4 {
		t.Errorf("%d rows are tried, want direct and buffered of both", r.Rows())
	}
	r.Asked = map[limit.Key]int64{limit.WriteIOPS: 100, limit.WriteBPS: 1 << 20}
	if r.Rows() != 2*len(Modes) {
		t.Errorf("%d rows are tried, want all modes of both", r.Rows())
	}
}

// TestSpread: small writes take no more room than there is, and leave the others what those need.
func TestSpread(t *testing.T) {
	for _, row := range []struct {
		free, most, writes int64
		modes              []Mode
	}{
		{0, 200 << 20, 5000 * 5, nil},
		{1, 100 << 20, 1, nil},
		{160 << 20, 160 << 20, 160 << 20 / 8192, nil},
		{0, 100 << 20, 0, []Mode{Direct, DSync}},
	} {
		r := Request{Asked: map[limit.Key]int64{limit.WriteIOPS: 5000}, Time: DefaultTime, Free: row.free, Modes: row.modes}
		if got := r.Room(); got > row.most {
			t.Errorf("%d free, %v: a file of %d, want %d at most", row.free, row.modes, got, row.most)
		}
		if got := r.job(limit.WriteIOPS, Buffered).IOSize / smallBS; row.writes > 0 && (got > row.writes || got < row.writes-32) {
			t.Errorf("%d free: %d writes, want %d", row.free, got, row.writes)
		}
	}
}
