package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plimsoll/load"
)

// TestMain makes the test binary serve as loadbench's child process.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "-child" {
		if err := run(context.Background(), os.Stdin, os.Stdout, os.Stderr, os.Args[1:]); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-runtime", "1500ms"}, {"-runtime", "0s"}, {"-nonsense"}, {"-dir", "/does/not/exist"}} {
		if err := run(context.Background(), nil, io.Discard, io.Discard, args); err == nil {
			t.Errorf("run(%v) was accepted", args)
		}
	}
	if err := run(context.Background(), strings.NewReader("{"), io.Discard, io.Discard, []string{"-child"}); err == nil {
		t.Error("a child without a job was accepted")
	}
}

func TestChildPrintsAResult(t *testing.T) {
	var out bytes.Buffer
	job := `{"rw":"randread","size":1048576,"number_ios":1000,"ioengine":"null"}`
	if err := run(context.Background(), strings.NewReader(job), &out, io.Discard, []string{"-child"}); err != nil {
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
	if err := run(context.Background(), nil, &out, &talk, args); err != nil {
		t.Fatalf("%v\n%s", err, talk.String())
	}
	for _, want := range []string{"io_uring depth 32, IOPS", "psync depth 1, CPU ns per I/O", "peak RSS at depth 32", "null engine", ">= 1.30"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestMedian(t *testing.T) {
	for want, in := range map[float64][]float64{3: {3}, 2: {3, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := median(in); got != want {
			t.Errorf("median(%v) = %v, want %v", in, got, want)
		}
	}
}
