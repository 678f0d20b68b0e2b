package loads

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// TestMain makes the test binary serve as the child process of bench load.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == subcommand {
		if err := Run(context.Background(), os.Stdin, os.Stdout, os.Stderr, os.Args[2:]); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-runtime", "1500ms"}, {"-runtime", "0s"}, {"-nonsense"}, {"-dir", "/does/not/exist"}} {
		if err := Run(context.Background(), nil, io.Discard, io.Discard, args); err == nil {
			t.Errorf("Run(%v) was accepted", args)
		}
	}
	if err := Run(context.Background(), strings.NewReader("{"), io.Discard, io.Discard, []string{"-child"}); err == nil {
		t.Error("a child without a job was accepted")
	}
}

func TestChildPrintsAResult(t *testing.T) {
	var out bytes.Buffer
	job := `{"rw":"randread","size":1048576,"number_ios":1000,"ioengine":"null"}`
	if err := Run(context.Background(), strings.NewReader(job), &out, io.Discard, []string{"-child"}); err != nil {
		t.Fatal(err)
	}
	var res load.Result
	if err := json.Unmarshal(out.Bytes(), &res); err != nil || res.Ops() != 1000 {
		t.Errorf("result = %s, %v", out.Bytes(), err)
	}
}

func TestOneRound(t *testing.T) {
	probe := load.ProbeEngines(t.TempDir())[0]
	if !probe.OK {
		t.Skipf("needs io_uring: %s", probe.Reason)
	}
	args := []string{"-rounds", "1", "-runtime", "1s", "-dir", t.TempDir(), "-size", "8388608"}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Log("without fio: only load's own figures")
	}
	var out, talk bytes.Buffer
	if err := Run(context.Background(), nil, &out, &talk, args); err != nil {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	for _, want := range []string{"io_uring depth 32, IOPS", "psync depth 1, CPU ns per I/O", "worker's peak RSS at depth 32, MiB", "null engine", ">= 1.30", "a bare ring, IOPS", "2 threads to 1", "Poisson", "requests/s", "histograms of 1000 clients, merged", "JSON+ of a run of 8 jobs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestWebRound: both clients do all requests of the server in memory.
func TestWebRound(t *testing.T) {
	address, done, err := serveWeb()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	c := &contest{}
	for _, oursFirst := range []bool{true, false} {
		if err := c.measureWeb(t.Context(), "http://"+address+"/", oursFirst); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("ab"); err == nil && len(c.theirs) != 2 {
		t.Errorf("ab was measured %d times", len(c.theirs))
	}
	for _, r := range append(c.ours, c.theirs...) {
		if r.iops <= 0 || r.cpu <= 0 {
			t.Errorf("%+v", r)
		}
	}
	var out bytes.Buffer
	if err := webTable(&out, c); err != nil || strings.Count(out.String(), "\n") != 6 || strings.Contains(out.String(), "met") || strings.Contains(out.String(), "MISSED") {
		t.Errorf("%v\n%s", err, out.String())
	}
	// A server that is gone is an error of the round, not a row of zeros.
	done()
	if err := c.measureWeb(t.Context(), "http://127.0.0.1:1/", true); err == nil {
		t.Error("nothing was asked, and it is no error")
	}
}

func TestMedian(t *testing.T) {
	for want, in := range map[float64][]float64{3: {3}, 2: {3, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := median(in); got != want {
			t.Errorf("median(%v) = %v, want %v", in, got, want)
		}
	}
}

// TestWorkerMemory: the program that plimsoll carries stays below its limit, at the
// depth that the limit is for and on every engine.
func TestWorkerMemory(t *testing.T) {
	o := options{runtime: time.Second}
	for _, p := range load.ProbeEngines(t.TempDir()) {
		if !p.OK {
			t.Logf("without %s: %s", p.Engine, p.Reason)
			continue
		}
		dir, job := t.TempDir(), workerJob(o)
		job.IOEngine = p.Engine
		peak, err := workerMemory(t.Context(), dir, workertest.Source(t), job)
		if err != nil {
			t.Fatalf("%s: %v", p.Engine, err)
		}
		// Two Go programs take some MiB.
		if peak > maxRSS || peak < 2<<20 {
			t.Errorf("%s: the worker took %d bytes, want %d at most", p.Engine, peak, maxRSS)
		}
		t.Logf("%s: %.1f MiB", p.Engine, float64(peak)/(1<<20))
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestTable: medians of the figures, and of the ratios within each round.
func TestTable(t *testing.T) {
	// A slow round slows both programs. The median of the ratios 2, 4 and 1 is 2; the ratio of the
	// medians would be 1.
	c := &contest{name: "c", rival: fioRival, iops: 1.3, cpu: 0.75,
		ours:   []reading{{200, 70}, {40, 80}, {100, 90}},
		theirs: []reading{{100, 100}, {10, 100}, {100, 100}}}
	null := &contest{ours: []reading{{iops: 4e6}, {iops: 6e6}}}
	poisson := &contest{job: load.Job{RateIOPS: 600_000}, ours: []reading{{iops: 594_600}}, theirs: []reading{{iops: 1_200_000}}}
	var out bytes.Buffer
	if err := table(&out, []*contest{c}, null, poisson, 33<<20, options{rounds: 3, runtime: time.Second, size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"c, IOPS 100 100 2.00 [1.00..4.00] >= 1.30 met",
		"c, CPU ns per I/O 80 100 0.80 [0.70..0.90] <= 0.75 MISSED",
		"worker's peak RSS at depth 32, MiB 33.0 <= 32 MISSED",
		"null engine depth 1, IOPS per core 5000000 >= 5000000 met",
		"null engine, Poisson arrivals, share of the 600,000/s asked for 0.991 2.000 1 +- 0.01 met",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, out.String())
		}
	}
	if !strings.Contains(out.String(), "reads the clock twice a batch") {
		t.Errorf("not a word on how often the clock is read:\n%s", out.String())
	}
	// Without fio there are no ratios and no verdicts on them.
	c.theirs = nil
	out.Reset()
	if err := table(&out, []*contest{c}, null, poisson, 1<<20, options{}); err != nil {
		t.Fatal(err)
	}
	if line, _, _ := strings.Cut(out.String()[strings.Index(out.String(), "c, IOPS"):], "\n"); strings.Contains(line, "met") || strings.Contains(line, "..") || !strings.Contains(line, "100") {
		t.Errorf("without fio: %q", line)
	}
}
