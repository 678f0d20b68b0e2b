package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/load"
)

// paced is a run of two jobs. One is an open loop with 5 % of its arrivals late. The other has a steady state: host dir
// reached it in each trial, oci bind in none.
func paced() (record.Run, []record.Trial) {
	f := newFixture()
	f.run.Blocks, f.run.Baseline = 6, map[string]string{"paced": "paced/dir", "settled": "settled/dir"}
	open := workload.Spec{Name: "paced", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, IODepth: 8, RateIOPS: 1000, Size: 1 << 20, Runtime: 5 * time.Second}}
	settled := workload.Spec{Name: "settled", Kind: workload.Block, Job: load.Job{RW: load.RandWrite, BS: 4096, IODepth: 8, Size: 1 << 20, Runtime: time.Minute}, Steady: workload.SteadyState{Round: 2 * time.Second}}
	var trials []record.Trial
	for b := range f.run.Blocks {
		for _, place := range []string{"dir", "bind"} {
			trials = append(trials, f.openTrial(open, place, b), f.steadyTrial(settled, place, b))
		}
	}
	for i := range trials {
		t := &trials[i]
		t.Order, t.Started = i, start.Add(time.Duration(i)*time.Minute)
		t.Warnings = check.Trial(t, &f.run)
	}
	return f.run, trials
}

func (f *fixture) blank(s workload.Spec, place string, block int) record.Trial {
	engine := map[string]string{"dir": "host", "bind": "oci"}[place]
	return record.Trial{
		Run: f.run.ID, Cell: record.Cell{Workload: s.Name, Engine: engine, Place: place, Limits: "none", Clients: 1}, Key: s.Name + "/" + place,
		Block: block, Wall: time.Minute, Status: record.Done, Spec: s, Metric: s.Metric(),
	}
}

// openTrial is one in which the generator was stopped for a quarter of a second.
func (f *fixture) openTrial(s workload.Spec, place string, block int) record.Trial {
	t := f.blank(s, place, block)
	service, response := new(hist.Histogram), new(hist.Histogram)
	for i := range 4900 {
		service.Record(int64(200*time.Microsecond) + int64(i))
		late := int64(0)
		if i < 250 {
			late = int64(i) * int64(time.Millisecond)
		}
		response.Record(int64(200*time.Microsecond) + int64(i) + late)
	}
	t.Results = []workload.Result{{
		IOEngine: load.IOUring, Elapsed: 5 * time.Second, Classes: []load.Class{{Name: "read", Ops: 4900, Bytes: 4900 * 4096, Lat: service, Response: response}},
		Late: 249, MaxLate: 249 * time.Millisecond, Missed: 100,
	}}
	t.Value = t.Results[0].Value(t.Metric)
	return t
}

// steadyTrial falls for four rounds; then host dir is steady, and oci bind goes on falling.
func (f *fixture) steadyTrial(s workload.Spec, place string, block int) record.Trial {
	t := f.blank(s, place, block)
	rounds := &workload.Rounds{From: 4, To: 9}
	ops, n, at := int64(0), int64(9000), time.Duration(0)
	for i := range 9 {
		if i < 5 || place == "bind" {
			n = n * 4 / 5
		}
		at += s.Steady.Round
		rounds.Each = append(rounds.Each, load.Sample{At: at, Ops: n, Bytes: 4096 * n, Lat: time.Duration(n) * time.Millisecond})
		if i >= rounds.From {
			ops += n
		}
	}
	h := new(hist.Histogram)
	h.RecordN(int64(time.Millisecond), uint64(ops))
	t.Results = []workload.Result{{
		IOEngine: load.IOUring, Elapsed: 10 * time.Second, Rounds: rounds, Classes: []load.Class{{Name: "write", Ops: ops, Bytes: ops * 4096, Lat: h}},
	}}
	t.Value = t.Results[0].Value(t.Metric)
	return t
}

// renderPaced prints the report of that run in a format.
func renderPaced(t *testing.T, format string) string {
	t.Helper()
	run, trials := paced()
	r, err := New(format, Terminal{Full: true, Width: 160})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Render(&b, NewSet(Build(run, trials, Options{Resamples: 200}))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPaceIsNextToTheNumbers: in every form for people, the offered and achieved rate, late arrivals, both
// times, and whether a cell was ever steady.
func TestPaceIsNextToTheNumbers(t *testing.T) {
	golden.Check(t, "paced-full-160.txt", renderPaced(t, "text"))
	golden.Check(t, "paced.md", renderPaced(t, "md"))
	page := strings.Join(strings.Fields(strings.NewReplacer("&#34;", `"`, "&gt;", ">").Replace(renderPaced(t, "html"))), " ")
	texttest.Has(t, page, []string{
		"open loop at 1000/s, latencies from when an I/O was due",
		"host dir: open loop, 1,000 I/Os per second offered, 980 achieved; of 30,000 due, 1,494 started late, at worst by 249 ms, and 600 never; p99 of the response time 200 ms, of the service time 205 µs",
		"until five rounds of 2 s are steady, for 1 min at most",
		"host dir: steady in all 6 trials, after 8 s, in rounds of 2 s",
		"oci bind: never steady, in all 6 trials, in rounds of 2 s; the figures are of the last ones",
		"Never steady: in 18 s (9 rounds of 2 s) no 5 rounds in a row were steady. The figure shows the last ones, in which the throughput varied by 88 % of its mean and drifted by 88 %, the mean latency by 0 % and 0 %",
		"Left: read response time, logarithmic",
	})
}

// TestPaceForMachines: in JSON and CSV.
func TestPaceForMachines(t *testing.T) {
	var doc struct{ Reports []Report }
	if err := json.Unmarshal([]byte(renderPaced(t, "json")), &doc); err != nil {
		t.Fatal(err)
	}
	r := doc.Reports[0]
	cells := map[string]*Cell{}
	for _, w := range r.Workloads {
		for i := range w.Cells {
			cells[w.Cells[i].Key] = &w.Cells[i]
		}
	}
	if o := cells["paced/dir"].Open; o == nil || *o != (OpenLoop{Offered: 1000, Achieved: 980, Due: 30_000, Late: 1494, Missed: 600, MaxLate: 249e6}) {
		t.Errorf("open_loop = %+v", o)
	}
	if cells["paced/dir"].of("read (service)") == nil || cells["settled/dir"].Open != nil || cells["paced/dir"].Steady != nil {
		t.Error("the service times are missing, or a cell has what it can't have")
	}
	if s := cells["settled/dir"].Steady; s == nil || *s != (Steady{Round: 2, Reached: 6, Of: 6, After: 8}) {
		t.Errorf("steady = %+v", s)
	}
	never := cells["settled/bind"]
	if never.Steady == nil {
		t.Fatal("oci bind has no steady state")
	}
	if never.Steady.Reached != 0 || never.Steady.Of != 6 {
		t.Errorf("oci bind got steady in %d of %d trials, want 0 of 6", never.Steady.Reached, never.Steady.Of)
	}
	if never.Steady.After.Known() {
		t.Errorf("oci bind got steady after %v, want it unknown", never.Steady.After)
	}
	if !never.Doubt {
		t.Error("oci bind never got steady and is not in doubt")
	}
	steady := 0
	for _, row := range r.Trials {
		if row.Steady == nil {
			continue
		}
		if row.Steady.From != 4 || row.Steady.To != 9 || row.Steady.After != 8 {
			t.Errorf("trial %+v, want rounds 4 to 9, after 8 s", row.Steady)
		}
		if len(row.Steady.Rates) != 9 || row.Steady.Rates[0] != 3600 {
			t.Errorf("rates %v, want nine that begin with 3600", row.Steady.Rates)
		}
		if row.Steady.Steady {
			steady++
		}
	}
	if steady != 6 {
		t.Errorf("%d trials were steady, want 6", steady)
	}

	rows, err := csv.NewReader(strings.NewReader(renderPaced(t, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		key := get("workload") + "/" + get("place")
		want := map[string][]string{
			"paced/dir":    {"1000", "980", "1494", "600", "2.49e+08", "", ""},
			"paced/bind":   {"1000", "980", "1494", "600", "2.49e+08", "", ""},
			"settled/dir":  {"", "", "", "", "", "6", "8"},
			"settled/bind": {"", "", "", "", "", "0", ""},
		}[key]
		for i, name := range []string{"offered", "achieved", "late", "missed", "max_late_ns", "steady_trials", "steady_after_s"} {
			if get(name) != want[i] {
				t.Errorf("%s: %s = %q, want %q", key, name, get(name), want[i])
			}
		}
		if strings.HasPrefix(key, "paced") && (get("service_p99_ns") == "" || get("service_p99_ns") == get("p99_ns")) {
			t.Errorf("%s: p99 %s, of the service time %s", key, get("p99_ns"), get("service_p99_ns"))
		}
		if never := strings.Contains(get("warnings"), "Never steady"); never != (key == "settled/bind") {
			t.Errorf("%s: warnings %q", key, get("warnings"))
		}
	}
}

func TestDescribeJobs(t *testing.T) {
	ten := 10
	for _, row := range []struct {
		job  load.Job
		want string
	}{
		{load.Job{RW: load.RandRead, ReadSplit: []load.SizeShare{{Size: 4096, Percent: 60}, {Size: 65536, Percent: 40}}}, "random read of 4 KiB (60 %) and 64 KiB (40 %), closed loop at depth 1, buffered"},
		{load.Job{RW: load.RandRW, ReadSplit: []load.SizeShare{{Size: 4096, Percent: 100}}, WriteSplit: []load.SizeShare{{Size: 512, Percent: 100}}}, "random read and write of reads 4 KiB (100 %), writes 512 bytes (100 %), closed loop at depth 1, buffered"},
		{load.Job{RW: load.Read, BS: 4096, Rate: 1 << 20, RateProcess: load.Poisson}, "sequential read of 4 KiB, depth up to 1, buffered, open loop at 1 MiB/s at random times, latencies from when an I/O was due"},
		{load.Job{RW: load.RandWrite, BS: 4096, ThinkTime: 5 * time.Millisecond, ThinkTimeBlocks: 8, PercentageRandom: &ten, BlockAlign: 65536, Data: load.DataZero, Verify: true, Loops: 3, Distribution: "zipf:1.1"},
			"random write of 4 KiB, closed loop at depth 1, buffered, a pause of 5 ms after every 8 I/Os, offsets by zipf:1.1, 10 % at random offsets, aligned to 64 KiB, of zeros, verified, 3 times"},
		{load.Job{RW: load.Write, BS: 4096, Compress: 30, Dedupe: 20}, "sequential write of 4 KiB, closed loop at depth 1, buffered, 30 % zeros, 20 % copies"},
	} {
		if got := describe(workload.Spec{Kind: workload.Block, Job: row.job}); got != row.want {
			t.Errorf("%s\nwant %s", got, row.want)
		}
	}
}
