package verify

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/workload"
	"plimsoll/load"
)

// samples are those of a window in which rate(second) bytes a second were done.
func samples(d time.Duration, rate func(at time.Duration) float64) []load.Sample {
	var all []load.Sample
	for at := sampleEvery; at <= d; at += sampleEvery {
		n := int64(rate(at-sampleEvery) * sampleEvery.Seconds())
		all = append(all, load.Sample{At: at, Ops: n / 4096, Bytes: n})
	}
	return all
}

// course of a device that did the same.
func points(d time.Duration, rate func(at time.Duration) float64) []point {
	p := []point{{}}
	total := 0.0
	for at := sampleEvery; at <= d; at += sampleEvery {
		total += rate(at-sampleEvery) * sampleEvery.Seconds()
		p = append(p, point{at: at, writtenBytes: int64(total), writes: int64(total) / 4096})
	}
	return p
}

func steady(rate float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return rate }
}

// pieces come every two seconds, each after it has waited for its time.
func pieces(rate float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if (at+sampleEvery)%(2*time.Second) == 0 {
			return rate * 20
		}
		return 0
	}
}

func TestJudge(t *testing.T) {
	const asked = 10 << 20
	burst := func(at time.Duration) float64 {
		if at < time.Second {
			return 3 * asked
		}
		return asked
	}
	for _, row := range []struct {
		name     string
		mode     Mode
		app, dev func(time.Duration) float64
		d        time.Duration
		want     Verdict
		words    string
	}{
		{"at the limit", Direct, steady(asked), steady(asked), 5 * time.Second, Held, "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"within the tolerance", Direct, steady(1.04 * asked), steady(asked), 5 * time.Second, Held, "+4.0 %"},
		{"above it", Direct, steady(1.07 * asked), steady(asked), 5 * time.Second, NotHeld, "limit NOT held: asked 10 MiB/s, saw 10.7 MiB/s (1.07 times)"},
		{"a burst, then the limit", Direct, burst, burst, 5 * time.Second, Held, "saw 10 MiB/s"},
		{"slower than the limit", Direct, steady(asked / 2), steady(asked / 2), 5 * time.Second, Unproved, "no more than 5 MiB/s came through"},
		{"the file system's own writes reach it", DSync, steady(0.7 * asked), steady(asked), 5 * time.Second, Held, "saw 7 MiB/s"},
		{"into the cache, held below", Buffered, steady(1 << 30), steady(asked), 5 * time.Second, Held, "saw 10 MiB/s"},
		{"into the cache, and out of it", Buffered, steady(1 << 30), steady(1 << 28), 5 * time.Second, NotHeld, "saw 256 MiB/s (25.6 times)"},
		{"into the cache, and out of it in large pieces", Buffered, steady(0), pieces(asked), 6 * time.Second, Held, "saw 10 MiB/s"},
		{"with the sync", BufferedSync, burst, burst, 4 * time.Second, NotHeld, "saw 15 MiB/s"},
		{"the device saw nothing", Direct, steady(asked), steady(0), 5 * time.Second, Unproved, "of the 10 MiB/s that the application saw no more than 0 B/s reached the device"},
		{"nor of what was written through", DSync, steady(asked), steady(asked / 20), 5 * time.Second, Unproved, "no more than 512 KiB/s reached the device"},
		{"nor of what was synced", BufferedSync, steady(asked), steady(0), 5 * time.Second, Unproved, "reached the device"},
		{"a member that gets its part", Direct, steady(asked), steady(asked / 4), 5 * time.Second, Held, "held"},
		{"too short", Direct, steady(asked), steady(asked), time.Second, Unproved, "too small"},
	} {
		r := Row{Key: WriteBPS, Mode: row.mode, Asked: asked}
		p := points(row.d, row.dev)
		last := p[len(p)-1]
		r.judge(&measured{
			result: &workload.Result{Elapsed: row.d, Samples: samples(row.d, row.app)}, course: p,
			device: &workload.DiskDelta{Writes: last.writes, WrittenBytes: last.writtenBytes},
		}, DefaultTolerance)
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s: %s; want %s with %q", row.name, r.Verdict, r.Words(), row.want, row.words)
		}
	}
}

// TestCourse: the burst and the time after which there was none.
func TestCourse(t *testing.T) {
	r := Row{Key: WriteBPS, Mode: Direct, Asked: 1000}
	r.judge(&measured{result: &workload.Result{Elapsed: 5 * time.Second, Samples: samples(5*time.Second, func(at time.Duration) float64 {
		if at < 500*time.Millisecond {
			return 2000
		}
		return 1000
	})}}, DefaultTolerance)
	// Half of the second at twice the rate; at 400 ms the next second holds 1,100 of 1,000, just about.
	if math.Abs(r.Overshoot-0.5) > 0.01 || r.Converged != 400*time.Millisecond && r.Converged != 500*time.Millisecond {
		t.Errorf("overshoot %v, converged after %v; want 0.5 and half a second", r.Overshoot, r.Converged)
	}
	r = Row{Key: WriteBPS, Mode: Direct, Asked: 1000}
	r.judge(&measured{result: &workload.Result{Elapsed: 5 * time.Second, Samples: samples(5*time.Second, steady(300))}}, DefaultTolerance)
	if r.Overshoot != 0 || r.Converged != -1 || r.Device != -1 {
		t.Errorf("overshoot %v, converged after %v, device %v; want 0, never and unknown", r.Overshoot, r.Converged, r.Device)
	}
}

// TestJobs: each job fits its limit: the file into what may be written, a block many times into a second.
func TestJobs(t *testing.T) {
	for _, asked := range []map[Key]int64{
		{WriteBPS: 1 << 20}, {WriteBPS: 1}, {WriteBPS: 1 << 62}, {ReadBPS: 1 << 40, WriteBPS: 1 << 20},
		{WriteIOPS: 1}, {WriteIOPS: 50}, {ReadIOPS: 1<<32 - 2}, {ReadIOPS: 20000, WriteIOPS: 5}, {ReadBPS: 500 << 20},
	} {
		r := Request{Asked: asked, Time: DefaultTime}
		for key, value := range asked {
			for _, mode := range Modes {
				j := r.job(key, mode)
				if j.Size < leastFile || j.Size > mostFile || j.Size%j.BS != 0 || j.IOSize > j.Size || j.BS < smallBS || j.BS > bigBS {
					t.Errorf("%v: %s, %s: file %d, block %d, io_size %d", asked, key, mode, j.Size, j.BS, j.IOSize)
				}
				if !key.IOPS() && j.BS > smallBS && value/j.BS < perSecond {
					t.Errorf("%v: %s: blocks of %d", asked, key, j.BS)
				}
			}
		}
		if w := asked[WriteBPS]; w > 0 && r.Room()/10 > max(w, leastFile/10) {
			t.Errorf("%v: a file of %d takes longer to write than to verify", asked, r.Room())
		}
	}
}

// TestLayOut: how long it takes is known beforehand, from the kernel's limits and not from those that are asked for.
func TestLayOut(t *testing.T) {
	for _, row := range []struct {
		asked, under map[Key]int64
		least, most  time.Duration
	}{
		{map[Key]int64{WriteBPS: 10 << 20}, nil, 0, 2 * DefaultTime},
		{map[Key]int64{WriteBPS: 64 << 10}, nil, 64 * time.Second, 64 * time.Second},
		{map[Key]int64{WriteBPS: 2}, nil, 24 * 24 * time.Hour, 25 * 24 * time.Hour},
		{map[Key]int64{WriteIOPS: 2}, nil, 16 * time.Second, 16 * time.Second},
		{map[Key]int64{ReadBPS: 10 << 20}, map[Key]int64{WriteBPS: 2}, MostLayOut, 365 * 24 * time.Hour},
		{map[Key]int64{WriteBPS: 2}, map[Key]int64{}, 0, 0},
		{map[Key]int64{ReadIOPS: 50}, nil, 0, 0},
	} {
		r := Request{Asked: row.asked, Under: row.under, Modes: Modes, Time: DefaultTime}
		if got := r.LayOut(); got < row.least || got > row.most {
			t.Errorf("%v under %v: %v, want %v to %v", row.asked, row.under, got, row.least, row.most)
		}
		if got, least := r.Lasts(), r.LayOut()+time.Duration(r.Rows())*r.Time; got < least {
			t.Errorf("%v under %v: it lasts %v, want %v at least", row.asked, row.under, got, least)
		}
	}
}
