package fio

import (
	"io"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// made is results that no machine had a part in.
func made(t *testing.T, args ...string) (*Test, []measured) {
	t.Helper()
	test, err := Parse(args, Source{})
	if err != nil {
		t.Fatal(err)
	}
	var all []measured
	for _, s := range test.stages {
		for _, c := range s {
			all = append(all, measured{clone: c, result: madeResult(c)})
		}
	}
	return test, all
}

func madeResult(c *clone) workload.StageResult {
	r := workload.StageResult{Name: c.job.name, Job: c.load}
	r.Engine = load.PSync // It began.
	r.Elapsed = 2 * time.Second
	r.Threads = load.ThreadUsage{User: 100 * time.Millisecond, System: 300 * time.Millisecond, Switches: 1234, MajorFaults: 1, MinorFaults: 20}
	for i, name := range []string{"read", "write", "sync"} {
		if name == "read" && !c.job.reads() || name == "write" && !c.job.writes() || name == "sync" && c.job.fsync == 0 {
			continue
		}
		h := new(hist.Histogram)
		n := int64(0)
		for ns := int64(900); ns < 300_000_000; ns += ns * int64(5+i) / 7 {
			h.RecordN(ns, uint64(1+300_000_000/ns%1000))
			n += 1 + 300_000_000/ns%1000
		}
		cl := load.Class{Name: name, Ops: n, Lat: h}
		if name != "sync" {
			cl.Bytes = n * 4096
		}
		if name != "sync" && c.load.Rate+c.load.RateIOPS > 0 {
			// A pause of a second in two: what came in it waited for its end.
			cl.Response = new(hist.Histogram)
			cl.Response.Merge(h)
			cl.Response.RecordN(500_000_000, uint64(n/10))
			r.Late, r.Missed, r.MaxLate = r.Late+n/10, r.Missed+int64(i), time.Second
		}
		r.Classes = append(r.Classes, cl)
	}
	for i := range int64(4) {
		s := load.Sample{At: time.Duration(i+1) * 500 * time.Millisecond, Ops: 500 + 10*i, Bytes: (500 + 10*i) * 4096, Lat: time.Second}
		if c.job.writes() {
			s.WriteOps, s.WriteBytes, s.WriteLat = 200+i, (200+i)*4096, time.Second/2
		}
		r.Samples = append(r.Samples, s)
	}
	if c.spec.Steady != nil {
		r.Steady = &workload.SteadyResult{Attained: true, IOPS: []float64{1001, 1000}, BW: []float64{4100887, 4096000}, Lat: []float64{1000, 1100}}
		r.Steady.Figure, _ = steady.Criterion.Judge(c.job.steady, r.Steady.IOPS)
	}
	return r
}

func TestOutputGolden(t *testing.T) {
	disks := []workload.DiskDelta{{Name: "vda", Reads: 10, Writes: 20, ReadMerges: 1, WriteMerges: 2, ReadTime: 30 * time.Millisecond, WriteTime: 40 * time.Millisecond, Busy: time.Second}}
	for name, args := range map[string][]string{
		"mixed":  {"--bs=4k", "--name=mixed", "--rw=randrw", "--size=1m", "--fsync=4", "--ioengine=io_uring", "--iodepth=32", "--direct=1", "--lat_percentiles=1", "--percentile_list=99.999:50", "--description=a <b> & \"c\""},
		"rates":  {"--name=r", "--rw=randrw", "--size=1m", "--rate_iops=300,100", "--numjobs=2", "--group_reporting", "--name=b", "--new_group", "--rw=write", "--size=1m", "--rate=1m", "--rate_process=poisson", "--clat_percentiles=0"},
		"groups": {"--name=one", "--rw=read", "--size=1m", "--numjobs=3", "--group_reporting", "--name=two", "--stonewall", "--rw=write", "--size=1m", "--rate_iops=500", "--thread"},
		"steady": {"--name=s", "--ioengine=null", "--size=1g", "--rw=randread", "--time_based", "--runtime=9", "--steadystate=iops_slope:50%", "--ss_dur=2"},
	} {
		t.Run(name, func(t *testing.T) {
			test, all := made(t, args...)
			r := test.report(all, disks, 4*time.Second)
			r.now, r.elapsed, r.pid = time.Date(2026, 11, 21, 7, 4, 46, 0, time.UTC), 2500*time.Millisecond, 4711
			golden.Check(t, name+".txt", string(append(r.head(), r.text()...)))
			golden.Check(t, name+".json", string(r.json(true)))
		})
	}
}

func TestNumbersAreFios(t *testing.T) {
	for in, want := range map[float64]string{0: "0", 9999: "9999", 10000: "10.0k", 30117: "30.1k", 128000: "128k", 5120000: "5120k", 1.2345e10: "12.3G"} {
		if got := count(in); got != want {
			t.Errorf("count(%v) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0B", 8192: "8192B", 65536: "64.0KiB", 4194304: "4096KiB", 246900000: "235MiB", 10737418240: "10.0GiB"} {
		if got := binary(in); got != want {
			t.Errorf("binary(%v) = %q, want %q", in, got, want)
		}
	}
}

// JSON+ of a run has to be there within 50 ms.
func BenchmarkJSONPlus(b *testing.B) {
	test, err := Parse([]string{"--name=m", "--rw=randrw", "--size=1m", "--fsync=4", "--numjobs=8"}, Source{})
	if err != nil {
		b.Fatal(err)
	}
	full := new(hist.Histogram)
	for v := uint64(1); v < 1<<33; v += v/64 + 1 {
		full.Record(int64(v))
	}
	var all []measured
	for _, c := range test.stages[0] {
		m := measured{clone: c, result: madeResult(c)}
		for i := range m.result.Classes {
			m.result.Classes[i].Lat = full
		}
		all = append(all, m)
	}
	for b.Loop() {
		r := test.report(all, nil, time.Second)
		if _, err := io.Discard.Write(r.json(true)); err != nil {
			b.Fatal(err)
		}
	}
}
