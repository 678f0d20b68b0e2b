package diskspd

import (
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
)

// lats is a histogram of latencies in microseconds.
func lats(us ...int64) *hist.Histogram {
	h := new(hist.Histogram)
	for _, n := range us {
		h.Record(n * 1000)
	}
	return h
}

// smallSystem is a machine with one processor, bigSystem one with all columns.
var (
	smallSystem = System{Processors: []ProcessorInfo{{}}}
	bigSystem   = System{
		ComputerName: "host", Start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Power: "High <performance>", PowerID: "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c",
		Processors: []ProcessorInfo{
			{Number: 0, Class: 1}, {Number: 1, Class: 1}, {Number: 2, Socket: 1, Node: 1, Core: 1}, {Number: 64, Socket: 1, Node: 1, Core: 2},
		},
	}
)

// TestKnownReport is a report whose text the authors of DiskSpd give in their own tests.
func TestKnownReport(t *testing.T) {
	s := newSpan()
	s.IOPS = true
	steady := make([]bucket, 10)
	for i := range steady {
		steady[i] = bucket{ops: 1}
	}
	p := Profile{Spans: []Span{s}}
	p.Spans[0].Targets = nil
	r := Results{System: smallSystem, Spans: []SpanResult{{
		Elapsed: 120 * time.Second,
		CPUs:    []workload.CPUDelta{{User: 30 * time.Second, System: 25 * time.Second, Idle: 45 * time.Second}},
		Threads: []ThreadResult{{[]TargetResult{{
			Path: "testfile1.dat", FileSize: 10 << 20,
			Read: Kind{Bytes: 4 << 20, Ops: 6, Buckets: steady}, Write: Kind{Bytes: 2 << 20, Ops: 10},
		}}}},
	}}}
	got := ResultsText(&p, &r)
	texttest.Has(t, got, []string{
		"\nCommand Line: \n\nInput parameters:\n\n\ttimespan:   1\n\t-------------\n\tduration: 10s\n\twarm up time: 5s\n\tcool down time: 0s\n\tgathering IOPS at intervals of 1000ms\n\trandom seed: 0\n\n",
		"System information:\n\n\tcomputer name: \n\tstart time: \n\n\tcpu count:\t\t1\n\tcore count:\t\t1\n\tgroup count:\t\t1\n\tnode count:\t\t1\n\tsocket count:\t\t1\n\theterogeneous cores:\tn\n\n\tactive power scheme:\t\n\n",
		"Results for timespan 1:\n*******************************************************************************\n\nactual test time:\t120.00s\n",
		"CPU |  Usage |  User  | Kernel |  Idle\n----------------------------------------\n   0|  55.00%|  30.00%|  25.00%|  45.00%\n----------------------------------------\navg.|  55.00%|  30.00%|  25.00%|  45.00%\n\nTotal IO\n",
		"thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s | IopsStdDev |  file\n-------------------------------------------------------------------------------------------\n",
		"     0 |         6291456 |           16 |       0.05 |       0.13 |       0.00 | testfile1.dat (10MiB)\n-------------------------------------------------------------------------------------------\ntotal:           6291456 |           16 |       0.05 |       0.13 |       0.00\n\nRead IO\n",
		"     0 |         4194304 |            6 |       0.03 |       0.05 |       0.00 | testfile1.dat (10MiB)\n",
		"     0 |         2097152 |           10 |       0.02 |       0.08 |       0.00 | testfile1.dat (10MiB)\n",
	})
}

// bigReport has several of everything.
func bigReport(t *testing.T, line string) (Profile, Results) {
	t.Helper()
	test, err := Parse(strings.Fields(line), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := test.Profile
	p.Spans = append(p.Spans, p.Spans[0], p.Spans[0])
	cpus := []workload.CPUDelta{
		{CPU: 0, User: time.Second, System: time.Second, Idle: 2 * time.Second}, {CPU: 1, Idle: time.Second},
		{CPU: 2, User: time.Second}, {CPU: 64},
	}
	row := func(path string, read, write Kind) ThreadResult {
		return ThreadResult{[]TargetResult{{Path: path, FileSize: 1<<30 + 1<<28, Read: read, Write: write, Parts: p.Spans[0].Targets[0].effective(1<<30 + 1<<28)}}}
	}
	a := SpanResult{Elapsed: 10 * time.Second, CPUs: cpus, Threads: []ThreadResult{
		row("a&b", Kind{Bytes: 8192, Ops: 2, Lat: lats(100, 200), Buckets: []bucket{{2, 3e5}, {0, 0}}}, Kind{Bytes: 4096, Ops: 1, Lat: lats(5000), Buckets: []bucket{{0, 0}, {1, 5e6}}}),
		row("a&b", Kind{Buckets: make([]bucket, 2)}, Kind{Buckets: make([]bucket, 2)}),
		row("c", Kind{Bytes: 4096, Ops: 1, Lat: lats(70), Buckets: []bucket{{0.5, 35e3}, {0.5, 35e3}}}, Kind{Buckets: make([]bucket, 2)}),
	}}
	return p, Results{System: bigSystem, Spans: []SpanResult{a, {}, a}}
}

func TestGoldenReports(t *testing.T) {
	p, r := bigReport(t, "-b4K -r -rdpct50/10:0/40 -w25 -L -D5000 -v -n -g300i a&b c")
	golden.Check(t, "report.txt", ResultsText(&p, &r))
	golden.Check(t, "report.xml", ResultsXML(&p, &r))
}

func TestGoldenProfiles(t *testing.T) {
	all := ""
	for _, line := range []string{
		"-Rp f", "-Rp -F4 -O8 -Zr -w100 -z5 -a0,1 f", "-Rp -Sm -Nv -I1 -frst -Z1M,src -si10000 -t2 -B1G:1M -g7 -x #3", "-Rp -Sr -Sw -Z -w30 -rs20 -i3 -j20 *1",
		"-Rp -r -b4K -rdabs50/10K:0/1500K -T5 -l -p -h f", "-Rp -p -S -T1M -t3 -I2 f", "-Rpxml -r -b4K -rdabs50/10K:0/1500K -l -h -i1 -j2 -c1G -Zr -a3 f",
		"-Rpxml -F2 -O3 -Z1M,src -Sm -Ni -g4 f", "-Rpxml -n -D50 -L -v -vs -P7 -:1 -eDISK_IO -Sr -Sw -g5i -si -t2 *2",
	} {
		test, err := Parse(strings.Fields(line), ParseOptions{})
		if err != nil {
			all += "\n=== " + line + "\n" + err.Error() + "\n"
			continue
		}
		all += "\n=== " + line + "\n" + test.Profile.printed()
	}
	golden.Check(t, "profiles.txt", all)
}

func TestSizeText(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 1023: "1023", 1024: "1KiB", 1536: "1.50KiB", 10 << 20: "10MiB", 5<<30 + 1: "5.00GiB", 3 << 40: "3TiB", 2000 * 1024: "1.95MiB",
	} {
		if got := sizeText(n, 0); got != want {
			t.Errorf("sizeText(%d) = %q, want %q", n, got, want)
		}
	}
	if got := sizeText(1<<30, 6); got != "     1GiB" {
		t.Errorf("with a width: %q", got)
	}
}

// TestPercentiles: the nearest rank, within what the histogram keeps.
func TestPercentiles(t *testing.T) {
	var us []int64
	for n := range int64(1000) {
		us = append(us, 1000+n)
	}
	k := Kind{Lat: lats(us...)}
	for p, want := range map[float64]float64{0: 1, 25: 1.249, 50: 1.499, 99: 1.989, 99.9: 1.998, 99.99: 1.999, 100: 1.999} {
		got := k.percentile(p)
		if got < want*(1-0.0078) || got > want*(1+0.0078) {
			t.Errorf("percentile %v is %v, want about %v", p, got, want)
		}
		if (p == 0 || p >= 99.99) && got != want {
			t.Errorf("percentile %v is %v, want exactly %v", p, got, want)
		}
	}
}

func TestThreadRuns(t *testing.T) {
	for want, all := range map[string][]int{"": nil, " 5": {5}, " 0 1": {0, 1}, " 0 - 7": {0, 1, 2, 3, 4, 5, 6, 7}, " 0 2 - 4 9": {0, 2, 3, 4, 9}} {
		if got := runs(all); got != want {
			t.Errorf("runs(%v) = %q, want %q", all, got, want)
		}
	}
}
