package row

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/workload"
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

// written is a count of so many bytes, written in blocks of 4 KiB.
func written(bytes float64) count {
	return count{writtenBytes: int64(bytes), writes: int64(bytes) / 4096, readBytes: int64(bytes), reads: int64(bytes) / 4096}
}

// charged adds what was charged to points of a device, as rates.
func charged(p []sample, group, root func(time.Duration) float64) []sample {
	o, n := 0.0, 0.0
	for i := range p {
		if i > 0 {
			o += group(p[i].at-sampleEvery) * sampleEvery.Seconds()
			n += root(p[i].at-sampleEvery) * sampleEvery.Seconds()
		}
		c := written(n)
		p[i].charged = &charges{group: written(o), root: &c}
	}
	return p
}

// points are the samples of a device that writes at a rate for the time d.
func points(d time.Duration, rate func(at time.Duration) float64) []sample {
	p := []sample{{}}
	total := 0.0
	for at := sampleEvery; at <= d; at += sampleEvery {
		total += rate(at-sampleEvery) * sampleEvery.Seconds()
		p = append(p, sample{at: at, count: written(total)})
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

// burstOf bytes come in the first tenth of a second.
func burstOf(bytes float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at == 0 {
			return bytes / sampleEvery.Seconds()
		}
		return 0
	}
}

// TestNeighbours: I/O of others on the device doesn't count as the row's. If the two can't be separated, the row is
// unproved.
func TestNeighbours(t *testing.T) {
	const asked, d = 10 << 20, 5 * time.Second
	none := steady(0)
	add := func(a, b func(time.Duration) float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 { return a(at) + b(at) }
	}
	limited, much := steady(asked), steady(1<<30)
	for _, row := range []struct {
		name            string
		key             limit.Key
		mode            Mode
		app, device     func(time.Duration) float64
		group, root     func(time.Duration) float64 // nil: not counted
		want            judge.Verdict
		words           string
		others, flushed float64 // others at least, flushed in seconds
	}{
		// Another group writes directly beside a flusher that is held: it was said to be 739 times the limit.
		{"another group writes, and the flusher is held", limit.WriteBPS, Buffered, burstOf(asked * 5), add(limited, much), none, limited, judge.Held, "saw 10 MiB/s", 1 << 29, 5},
		{"another group writes, and the flusher is not held", limit.WriteBPS, Buffered, burstOf(asked * 5), add(burstOf(asked*5), much), none, burstOf(asked * 5), judge.NotHeld, "saw 50 MiB/s", 1 << 29, 1},
		{"others' buffered writes are held with it", limit.WriteBPS, Buffered, burstOf(asked * 3), limited, none, limited, judge.Held, "saw 10 MiB/s", 1 << 20, 5},
		{"others' buffered writes can't be told from it", limit.WriteBPS, Buffered, burstOf(asked * 5), add(limited, much), none, add(limited, much), judge.Unproved, "others used the device too", 1 << 29, 5},
		{"it is not counted", limit.WriteBPS, Buffered, burstOf(asked * 5), add(limited, much), nil, nil, judge.Unproved, "between 10 MiB/s and", 1 << 29, 5},
		{"it is not counted, and all of it came too soon", limit.WriteBPS, Buffered, burstOf(asked * 5), much, nil, nil, judge.NotHeld, "saw 50 MiB/s", 1 << 29, 1},
		{"a read beside another group's", limit.ReadBPS, Buffered, limited, add(limited, much), limited, none, judge.Held, "saw 10 MiB/s", 1 << 29, 0},
		{"a read that is not held beside another group's", limit.ReadBPS, Buffered, much, add(much, much), much, none, judge.NotHeld, "saw 1 GiB/s", 1 << 29, 0},
		{"a read, and it is not counted", limit.ReadBPS, Buffered, limited, add(limited, much), nil, nil, judge.Unproved, "others used the device too", -1, 0},
		// I/O of others must not make up for I/O that the row lacks.
		{"slower than the limit beside another group", limit.WriteBPS, Direct, steady(asked / 2), add(steady(asked/2), much), steady(asked / 2), none, judge.Unproved, "saw 5 MiB/s (-50.0 %); something else was slower", 1 << 29, 0},
		{"held beside another group", limit.WriteBPS, Direct, limited, add(limited, much), limited, none, judge.Held, "saw 10 MiB/s", 1 << 29, 0},
		{"the file system's own writes reach it", limit.WriteBPS, DSync, steady(0.7 * asked), limited, limited, none, judge.Held, "saw 7 MiB/s (-30.0 %); with the file system's own writes it is 10 MiB/s", 0, 0},
	} {
		r := Row{Finding: judge.Finding{Key: row.key, Asked: asked}, Mode: row.mode}
		p := points(d, row.device)
		if row.group != nil {
			p = charged(p, row.group, row.root)
		}
		r.judge(&measured{
			result: &workload.Result{Elapsed: d, Samples: samples(d, row.app)}, samples: p,
			flushed: time.Duration(row.flushed * float64(time.Second)),
		})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s: %s; want %s with %q", row.name, r.Verdict, r.Words(), row.want, row.words)
		}
		others := fmt.Sprintf("others %s of %s, want %s", r.Rate(r.Others), r.Rate(r.Device), r.Rate(row.others))
		if r.Others < row.others {
			t.Errorf("%s: too few: %s", row.name, others)
		}
		if row.others == 0 && r.Others > 1 {
			t.Errorf("%s: too many: %s", row.name, others)
		}
		if row.others < 0 && r.Others != -1 {
			t.Errorf("%s: not unknown: %s", row.name, others)
		}
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
	late := func(at time.Duration) float64 {
		if at < 2*time.Second {
			return 0.7 * asked
		}
		return 1.2 * asked
	}
	for _, row := range []struct {
		name     string
		mode     Mode
		app, dev func(time.Duration) float64
		d        time.Duration
		want     judge.Verdict
		words    string
	}{
		{"at the limit", Direct, steady(asked), steady(asked), 5 * time.Second, judge.Held, "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"within the tolerance", Direct, steady(1.04 * asked), steady(asked), 5 * time.Second, judge.Held, "+4.0 %"},
		{"above it", Direct, steady(1.12 * asked), steady(asked), 5 * time.Second, judge.NotHeld, "limit NOT held: asked 10 MiB/s, saw 11.2 MiB/s (+12.0 %)"},
		{"above it by no more than a slice that came late", Direct, steady(1.07 * asked), steady(asked), 5 * time.Second, judge.Unproved, "too short: in 5 s up to 4 % more than the limit can come through: verify with --time 10s"},
		{"held up, and then catching up", Direct, late, late, 5 * time.Second, judge.Unproved, "saw 11.2 MiB/s (+11.9 %); the rate was uneven, and in total no more than the limit allows"},
		{"a burst, then the limit", Direct, burst, burst, 5 * time.Second, judge.Held, "saw 10 MiB/s"},
		{"slower than the limit", Direct, steady(asked / 2), steady(asked / 2), 5 * time.Second, judge.Unproved, "saw 5 MiB/s (-50.0 %); something else was slower"},
		{"into the cache, held below", Buffered, steady(1 << 30), steady(asked), 5 * time.Second, judge.Held, "saw 10 MiB/s"},
		{"into the cache, and out of it", Buffered, steady(1 << 30), steady(1 << 28), 5 * time.Second, judge.NotHeld, "saw 256 MiB/s (25.6 times)"},
		{"into the cache, and out of it in large pieces", Buffered, burstOf(60 << 20), pieces(asked), 6 * time.Second, judge.Held, "saw 10 MiB/s"},
		{"with the sync", BufferedSync, burst, burst, 4 * time.Second, judge.NotHeld, "saw 15 MiB/s"},
		{"with the sync, and no more than the slices above it", BufferedSync, steady(1.08 * asked), steady(1.08 * asked), 4 * time.Second, judge.Unproved, "saw 10.8 MiB/s (+8.0 %); too short: in 4 s up to 5 % more than the limit can come through: verify with --time 8s"},
		{"with the sync, and more than those", BufferedSync, steady(1.12 * asked), steady(1.12 * asked), 4 * time.Second, judge.NotHeld, "saw 11.2 MiB/s"},
		{"the device saw nothing", Direct, steady(asked), steady(0), 5 * time.Second, judge.Unproved, "saw 10 MiB/s (+0.0 %); at most 0 B/s of it reached the device"},
		{"nor of what was written through", DSync, steady(asked), steady(asked / 20), 5 * time.Second, judge.Unproved, "at most 512 KiB/s of it reached the device"},
		{"nor of what was synced", BufferedSync, steady(asked), steady(0), 5 * time.Second, judge.Unproved, "reached the device"},
		{"a member that gets its part", Direct, steady(asked), steady(asked / 4), 5 * time.Second, judge.Held, "held"},
		{"too short", Direct, steady(asked), steady(asked), 900 * time.Millisecond, judge.Unproved, "too small"},
	} {
		r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: asked}, Mode: row.mode}
		p := points(row.d, row.dev)
		last := p[len(p)-1]
		r.judge(&measured{
			result: &workload.Result{Elapsed: row.d, Samples: samples(row.d, row.app)}, samples: p,
			device: &workload.DiskDelta{Writes: last.writes, WrittenBytes: last.writtenBytes}, flushed: row.d,
		})
		if r.Verdict != row.want || !strings.Contains(r.Words(), row.words) {
			t.Errorf("%s: %s: %s; want %s with %q", row.name, r.Verdict, r.Words(), row.want, row.words)
		}
	}
}

// TestCourse: the burst and the time after which there was none.
func TestCourse(t *testing.T) {
	r := Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 1000}, Mode: Direct}
	r.judge(&measured{result: &workload.Result{Elapsed: 5 * time.Second, Samples: samples(5*time.Second, func(at time.Duration) float64 {
		if at < 500*time.Millisecond {
			return 2000
		}
		return 1000
	})}})
	// Half of the second at twice the rate; at 400 ms the next second holds 1,100 of 1,000, just about.
	if math.Abs(r.Overshoot-0.5) > 0.01 || r.Converged != 400*time.Millisecond && r.Converged != 500*time.Millisecond {
		t.Errorf("overshoot %v, converged after %v; want 0.5 and half a second", r.Overshoot, r.Converged)
	}
	r = Row{Finding: judge.Finding{Key: limit.WriteBPS, Asked: 1000}, Mode: Direct}
	r.judge(&measured{result: &workload.Result{Elapsed: 5 * time.Second, Samples: samples(5*time.Second, steady(300))}})
	if r.Overshoot != 0 || r.Converged != -1 || r.Device != -1 {
		t.Errorf("overshoot %v, converged after %v, device %v; want 0, never and unknown", r.Overshoot, r.Converged, r.Device)
	}
}

// TestJobs: each job fits its limit: the file into what may be written, a block many times into a second.
func TestJobs(t *testing.T) {
	for _, asked := range []map[limit.Key]int64{
		{limit.WriteBPS: 1 << 20}, {limit.WriteBPS: 1}, {limit.WriteBPS: 1 << 62}, {limit.ReadBPS: 1 << 40, limit.WriteBPS: 1 << 20},
		{limit.WriteIOPS: 1}, {limit.WriteIOPS: 50}, {limit.ReadIOPS: 1<<32 - 2}, {limit.ReadIOPS: 20000, limit.WriteIOPS: 5}, {limit.ReadBPS: 500 << 20},
	} {
		r := Request{Asked: asked, Time: DefaultTime}
		for key, value := range asked {
			for _, mode := range Modes {
				j := r.job(key, mode)
				if j.BS < smallBS || j.BS > bigBS {
					t.Errorf("%v: %s, %s: block %d, want %d to %d", asked, key, mode, j.BS, smallBS, bigBS)
				}
				if j.Size < leastFile || j.Size > mostFile || j.Size%j.BS != 0 {
					t.Errorf("%v: %s, %s: file %d, want whole blocks of %d, %d to %d bytes", asked, key, mode, j.Size, j.BS, leastFile, mostFile)
				}
				if j.IOSize > j.Size {
					t.Errorf("%v: %s, %s: io_size %d is above the file's %d", asked, key, mode, j.IOSize, j.Size)
				}
				if j.RWNumber > 0 && j.IOSize/j.BS*(j.BS+j.RWNumber) > j.Size {
					t.Errorf("%v: %s, %s: %d writes of %d with gaps of %d are more than a file of %d holds", asked, key, mode, j.IOSize/j.BS, j.BS, j.RWNumber, j.Size)
				}
				if !key.IOPS() && j.BS > smallBS && value/j.BS < perSecond {
					t.Errorf("%v: %s: blocks of %d", asked, key, j.BS)
				}
			}
		}
		if w := asked[limit.WriteBPS]; w > 0 && r.Room()/10 > max(w, leastFile/10) {
			t.Errorf("%v: a file of %d takes longer to write than to verify", asked, r.Room())
		}
	}
}

// TestLayOut: how long it takes is known beforehand, from the kernel's limits and not from those that are asked for.
func TestLayOut(t *testing.T) {
	for _, row := range []struct {
		asked, under map[limit.Key]int64
		least, most  time.Duration
	}{
		{map[limit.Key]int64{limit.WriteBPS: 10 << 20}, nil, 0, 2 * DefaultTime},
		{map[limit.Key]int64{limit.WriteBPS: 64 << 10}, nil, 64 * time.Second, 64 * time.Second},
		{map[limit.Key]int64{limit.WriteBPS: 2}, nil, 24 * 24 * time.Hour, 25 * 24 * time.Hour},
		{map[limit.Key]int64{limit.WriteIOPS: 2}, nil, 16 * time.Second, 16 * time.Second},
		{map[limit.Key]int64{limit.ReadBPS: 10 << 20}, map[limit.Key]int64{limit.WriteBPS: 2}, MostLayOut, 365 * 24 * time.Hour},
		{map[limit.Key]int64{limit.WriteBPS: 2}, map[limit.Key]int64{}, 0, 0},
		{map[limit.Key]int64{limit.ReadIOPS: 50}, nil, 0, 0},
		{map[limit.Key]int64{limit.WriteIOPS: 1000}, nil, 0, time.Second},
		{map[limit.Key]int64{limit.WriteIOPS: 10000}, map[limit.Key]int64{limit.WriteIOPS: 100}, 0, time.Minute},
	} {
		r := Request{Asked: row.asked, Under: row.under, Modes: Modes, Time: DefaultTime}
		if got := r.LayOut(); got < row.least || got > row.most {
			t.Errorf("%v under %v: %v, want %v to %v", row.asked, row.under, got, row.least, row.most)
		}
		if got, least := r.Lasts(), r.LayOut()+time.Duration(r.Rows())*r.Time; got < least {
			t.Errorf("%v under %v: it lasts %v, want %v at least", row.asked, row.under, got, least)
		} else if most := r.LayOut() + time.Duration(r.Rows())*2*r.Time; row.asked[limit.WriteIOPS] > 0 && got > most {
			t.Errorf("%v under %v: it lasts %v, want %v at most", row.asked, row.under, got, most)
		}
	}
}

// TestHidden: a limit can't be tested where the other one of its direction lets less through, in I/Os of the row's size.
func TestHidden(t *testing.T) {
	asked := func(bps, iops int64) map[limit.Key]int64 {
		return map[limit.Key]int64{limit.WriteBPS: bps, limit.WriteIOPS: iops}
	}
	for _, x := range []struct {
		key   limit.Key
		asked map[limit.Key]int64
		want  string
	}{
		{limit.WriteBPS, asked(1<<30, 2), "write_iops of 2 lets no more than 512 KiB/s of I/Os of 256 KiB through"},
		{limit.WriteIOPS, asked(1<<30, 2), ""},
		{limit.WriteIOPS, asked(1<<20, 1000), "write_bps of 1 MiB/s lets no more than 256 I/Os of 4 KiB through"},
		{limit.WriteBPS, asked(1<<20, 1000), ""},
		{limit.WriteBPS, asked(1<<30, 0), ""},
		{limit.ReadBPS, map[limit.Key]int64{limit.ReadBPS: 1 << 40, limit.ReadIOPS: 60, limit.WriteIOPS: 1}, "read_iops of 60 lets no more than 15 MiB/s of I/Os of 256 KiB through"},
	} {
		r := Request{Asked: x.asked, Time: LeastTime}
		if got := r.bindsFirst(x.key, r.blockSize(x.key)); got != x.want {
			t.Errorf("%s of %v: %q, want %q", x.key, x.asked, got, x.want)
		}
	}
}
