package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// stallFor is how long a planted stall takes, and lastStall the one at the window's end. Both are in the middle of a bucket of the
// histograms, which are 2.1 and 4.2 ms wide there.
const (
	stallFor  = 151 * time.Millisecond
	lastStall = 302 * time.Millisecond
)

// A stalled is what a line of fio said of a job that was stalled.
type stalled struct {
	Max        int64            `json:"max"`
	Percentile map[string]int64 `json:"percentile"`
}

// fioLatency reads the latencies of one kind of operation from fio's output: read, write or sync.
func fioLatency(t *testing.T, out []byte, op string) (lat stalled, total int64) {
	t.Helper()
	var doc struct {
		Jobs []map[string]json.RawMessage
	}
	text := string(out)
	if err := json.Unmarshal([]byte(text[max(strings.IndexByte(text, '{'), 0):]), &doc); err != nil || len(doc.Jobs) != 1 {
		t.Fatalf("no JSON of a job: %v: %s", err, out)
	}
	var d struct {
		Lat   stalled `json:"lat_ns"`
		Total int64   `json:"total_ios"`
	}
	if err := json.Unmarshal(doc.Jobs[0][op], &d); err != nil {
		t.Fatal(err)
	}
	return d.Lat, d.Total
}

// TestLieStall plants stalls of single I/Os at random moments, the last right before the end of the window, and has fio and
// plimsoll do the same line: the maximum and the p99.9 of both are what the file system held up, within a bucket, with each I/O engine, in a
// closed loop and in an open one, and for syncs.
func TestLieStall(t *testing.T) {
	needRun(t)
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is needed")
	}
	stalls, window := 3, 500*time.Millisecond
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		stalls, window = 10, 2*time.Second
	}
	var tests []subtest
	for _, s := range stallShapes() {
		tests = append(tests, subtest{s.name, func(t *testing.T) {
			fs := disktest.NewSlowFS(t, s.mapped)
			s.pair(t, fs, s.plan(stalls, window), window)
		}})
	}
	abreast(t, 2, tests) // More would take the processors from each other.
}

// A stallShape is a line of fio whose operations of one kind are stalled.
type stallShape struct {
	name, op, line string
	mapped         bool
}

// stallShapes are all I/O engines, each in a closed and in an open loop, and syncs.
func stallShapes() []stallShape {
	var all []stallShape
	for _, engine := range []string{"io_uring", "libaio", "psync", "pvsync", "mmap"} {
		s := stallShape{engine + "-closed", "write", "--ioengine=" + engine + " --rw=randwrite --direct=1 --norandommap", false}
		switch engine {
		case "io_uring", "libaio":
			s.line += " --iodepth=4"
		case "mmap":
			// A page that was touched is in memory: each is read once.
			s.op, s.line, s.mapped = "read", "--ioengine=mmap --rw=randread", true
		}
		open := s
		open.name, open.line = engine+"-open", s.line+" --rate_iops=400"
		all = append(all, s, open)
	}
	return append(all, stallShape{"sync", "sync", "--rw=randwrite --direct=1 --ioengine=io_uring --norandommap --fsync=1", false})
}

// plan is so many stalls at random moments, the last right before the end of the window.
func (s stallShape) plan(stalls int, window time.Duration) []disktest.Stall {
	plan := []disktest.Stall{{Op: s.op, At: window - 40*time.Millisecond, For: lastStall}}
	// Each in a part of the window of its own: a thread that does one I/O at a time meets them one after the other.
	part := (window - 200*time.Millisecond) / time.Duration(stalls-1)
	for i := range stalls - 1 {
		at := time.Duration(i)*part + time.Duration(rand.Int64N(int64(part)))
		plan = append(plan, disktest.Stall{Op: s.op, At: at, For: stallFor})
	}
	slices.SortFunc(plan, func(a, b disktest.Stall) int { return int(a.At - b.At) })
	return plan
}

// pair has both do the line, with the same stalls, and compares each with what the file system did. A latency below that fails at
// once. One above it may be the machine's lateness, which slows down fio as well: the pair is tried again, three times in all.
func (s stallShape) pair(t *testing.T, fs *disktest.SlowFS, plan []disktest.Stall, window time.Duration) {
	t.Helper()
	for try := 1; ; try++ {
		above := s.try(t, fs, plan, window)
		if len(above) == 0 {
			return
		}
		if try == 3 {
			t.Errorf("three times: %s", strings.Join(above, "; "))
			return
		}
		t.Logf("again, since the machine may have been late: %s", strings.Join(above, "; "))
	}
}

// try is one try of pair. It returns the latencies that are above what the file system did.
func (s stallShape) try(t *testing.T, fs *disktest.SlowFS, plan []disktest.Stall, window time.Duration) (above []string) {
	t.Helper()
	// So that the window has fewer than 1,000 I/Os, and the p99.9 is the longest of them. fio reaps all that are in flight at the window's end
	// together: up to three others seem to take nearly as long as the last one.
	base := window / 200
	run := func(name string, do func(path string, args []string) []byte) {
		path := filepath.Join(fs.Dir, name)
		if err := os.WriteFile(filepath.Join(fs.Back, name), make([]byte, 16<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append(strings.Fields(s.line), "--name=a", "--bs=4k", "--size=16m", "--filename="+path, "--output-format=json",
			"--lat_percentiles=1", "--percentile_list=50:99:99.9", "--time_based", fmt.Sprintf("--runtime=%dms", window.Milliseconds()))
		var out []byte
		var late time.Duration
		for try := 1; ; try++ {
			fs.Plan(map[string]time.Duration{"read": base, "write": base, "sync": base}, plan...)
			over := lateness()
			out = do(path, args)
			late = over()
			n := fs.Left()
			if n == 0 {
				break
			}
			// On a busy machine no I/O may begin between the last stall's time and the end of the window.
			if t.Logf("%s met all stalls but %d", name, n); try == 5 {
				t.FailNow()
			}
		}
		lat, total := fioLatency(t, out, s.op)
		held := fs.Held()
		t.Logf("%s: %d I/Os, most %v, %v; held up %v; others late by %v", name, total, time.Duration(lat.Max), lat.Percentile, held, late)
		compare := func(what string, latency int64, held, late time.Duration) {
			said := bucketsApart(what, latency, held, late)
			switch {
			case said == "":
			case latency < int64(held):
				t.Errorf("%s: %s", name, said)
			default:
				above = append(above, name+": "+said)
			}
		}
		compare("maximum", lat.Max, held[0], late)
		for _, p := range []struct {
			name  string
			above float64
		}{{"99.900000", 0.001}, {"99.000000", 0.01}} {
			// How many are at least as long; a few at the end may be counted by one of both only.
			switch rank := int(p.above*float64(total)) + 1; {
			case rank == 1:
				compare("p"+p.name, lat.Percentile[p.name], held[0], late)
			case rank > 4 && rank < len(held):
				// Those of the middle have one length.
				compare("p"+p.name, lat.Percentile[p.name], stallFor, held[1]-stallFor+late)
			}
		}
	}
	run("fio", func(_ string, args []string) []byte {
		out, err := exec.Command("fio", append(args, "--thread")...).CombinedOutput()
		if err != nil {
			t.Fatalf("fio: %v: %s", err, out)
		}
		return out
	})
	run("plimsoll", func(path string, args []string) []byte {
		r := plimsoll(t, t.Context(), t.TempDir(), "", append([]string{"fio", "--destructive", path}, args...)...)
		if r.status != exitDone {
			t.Fatalf("it ended with %d: %s", r.status, r.stderr)
		}
		return []byte(r.stdout)
	})
	return above
}

// lateness watches by how much the machine is late to wake up a thread, until the function that it returns is called, which says the most.
func lateness() func() time.Duration {
	end, most := make(chan bool), make(chan time.Duration)
	go func() {
		var late time.Duration
		for {
			select {
			case <-end:
				most <- late
				return
			default:
			}
			began := time.Now()
			time.Sleep(time.Millisecond)
			late = max(late, time.Since(began)-time.Millisecond)
		}
	}()
	return func() time.Duration {
		end <- true
		return <-most
	}
}

// bucketsApart says that a latency is more than a bucket of fio's histograms apart from how long the file system held the request up; "" if not. It may be
// greater by as much as the machine was late, and is never less.
func bucketsApart(what string, latency int64, held, late time.Duration) string {
	d, more := hist.Index(uint64(latency))-hist.Index(uint64(held)), hist.Index(uint64(held+late))-hist.Index(uint64(held))
	if d >= -1 && d <= 1+more {
		return ""
	}
	return fmt.Sprintf("the %s is %v, and the request was held up for %v: %d buckets apart. ", what, time.Duration(latency), held, d)
}

// TestLieHang hangs one I/O near the end of a plan's window, for longer than all of that, and for ever; and the first one for longer than
// the window: all of them are trials with a figure, and the latency is there.
func TestLieHang(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits for its stalls, and its file systems are its own.
	// Neither the layout of the file nor what tries the I/O engines.
	blocks := func(name string, size int) bool { return strings.HasPrefix(name, "block-") && size == 4096 }
	var tests []subtest
	for _, e := range windowEnds() {
		depth := 4
		if e.stall.At == 0 {
			depth = 1
		}
		if e.stall.For == disktest.Endless {
			e.say += "1 operation in flight"
		}
		e.stall.Op, e.base = "write", 2*time.Millisecond // Four at once.
		workload := fmt.Sprintf("{rw: randwrite, bs: 4KiB, iodepth: %d, direct: true, size: 1MiB, runtime: 600ms}", depth)
		for _, engine := range []string{"io_uring", "linux-aio", "psync"} {
			tests = append(tests, subtest{e.name + "/" + engine, func(t *testing.T) {
				e.run(t, workload, "io_engine: "+engine+"\n", blocks, func(class load.Class, elapsed time.Duration) string {
					if depth > 1 && elapsed != stallWindow {
						return fmt.Sprintf("a window of %v, want %v", elapsed, stallWindow)
					}
					if depth > 1 && (class.InFlight == 0 || class.Ops < 10) {
						return fmt.Sprintf("%d I/Os, and %d in flight", class.Ops, class.InFlight)
					}
					return ""
				})
			}})
		}
	}
	// In the first round of a job with a steady state, so that none is over.
	first := windowEnd{"first-round", disktest.Stall{Op: "write", At: stallFrom, For: disktest.Endless}, 2 * time.Millisecond, "The storage hung: 1 operation in flight"}
	tests = append(tests, subtest{first.name, func(t *testing.T) {
		first.run(t, "{rw: randwrite, bs: 4KiB, direct: true, size: 1MiB, runtime: 2600ms, steady_state: {round: 520ms}}", "io_engine: psync\n", blocks, func(class load.Class, _ time.Duration) string {
			if class.InFlight == 0 || class.Ops < 10 {
				return fmt.Sprintf("%d I/Os, and %d in flight", class.Ops, class.InFlight)
			}
			return ""
		})
	}})
	abreast(t, stallsAtOnce, tests)
}
