package loads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
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
	for _, args := range [][]string{{"-rounds", "0"}, {"-runtime", "99ms"}, {"-runtime", "100500us"}, {"-runtime", "0s"}, {"-nonsense"}, {"-dir", "/does/not/exist"}} {
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
	args := []string{"-rounds", "1", "-runtime", "300ms", "-dir", t.TempDir(), "-size", "8388608"}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Log("without fio: only load's own figures")
	}
	var out, talk bytes.Buffer
	if err := Run(context.Background(), nil, &out, &talk, args); err != nil {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	texttest.Has(t, out.String(), []string{"io_uring depth 32, IOPS", "psync depth 1, CPU ns per I/O", "worker's peak RSS at depth 32 ", "null engine", ">= 1.3 ", "a bare ring, IOPS", "2 threads to 1", "Poisson", "requests/s", "histograms of 1000 clients, merged", "JSON+ of a run of 8 jobs"})
}

// TestWebRound: both clients do all requests of the server in memory.
func TestWebRound(t *testing.T) {
	address, done, err := serveWeb()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	c, err := webContest("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := interleave(t.Context(), []*contest{c}, 2, io.Discard); err != nil {
		t.Fatal(err)
	}
	if c.peer != nil && len(c.peerGot) != 2 {
		t.Errorf("ab was measured %d times", len(c.peerGot))
	}
	for _, r := range append(c.oursGot, c.peerGot...) {
		if r.iops <= 0 || r.cpu <= 0 {
			t.Errorf("%+v", r)
		}
	}
	// A server that is gone is an error of the round, not a row of zeros.
	done()
	if c, err = webContest("http://127.0.0.1:1/"); err == nil {
		err = c.round(t.Context(), true)
	}
	if err == nil {
		t.Error("nothing was asked, and it is no error")
	}
}

// TestInterleave: the program that is first in one round is last in the next.
func TestInterleave(t *testing.T) {
	var order strings.Builder
	does := func(name string) run {
		return func(context.Context) (reading, error) { order.WriteString(name); return reading{}, nil }
	}
	all := []*contest{{ours: does("a"), peer: does("A")}, {ours: does("b")}}
	if err := interleave(t.Context(), all, 3, io.Discard); err != nil || order.String() != "aAbAabaAb" {
		t.Errorf("order %s, %v", order.String(), err)
	}
	all[1].ours = func(context.Context) (reading, error) { return reading{}, io.ErrUnexpectedEOF }
	if err := interleave(t.Context(), all, 1, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a run that fails: %v", err)
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

// TestTable: the goals of each contest are those of its own figures.
func TestTable(t *testing.T) {
	c := &contest{name: "c", iops: times(figure.AtLeast, 1.3), cpu: times(figure.AtMost, 0.75),
		oursGot: []reading{{200, 70}, {40, 80}, {100, 90}},
		peerGot: []reading{{100, 100}, {10, 100}, {100, 100}}}
	only := &contest{name: "only", iopsOnly: true, oursGot: []reading{{2, 1}}}
	null := &contest{oursGot: []reading{{iops: 4e6}, {iops: 6e6}}}
	poisson := &contest{oursGot: []reading{{iops: 594_600}}, peerGot: []reading{{iops: 1_200_000}}}
	var out bytes.Buffer
	if err := table(&out, []*contest{c, only}, null, poisson, 33<<20, options{rounds: 3, runtime: time.Second, size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "table.txt", out.String())
}
