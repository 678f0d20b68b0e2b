package plan

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/load"
)

// TestBufferPattern: a file that is written with a pattern holds what fio writes with it.
func TestBufferPattern(t *testing.T) {
	for _, x := range []struct{ key, fio string }{{"0xdeadbeef", "0xdeadbeef"}, {"0x00ff10", "0x00ff10"}, {"some text", `"some text"`}} {
		dir := t.TempDir()
		runJob(t, dir, "rw: write, size: 1MiB, buffer_pattern: "+x.key)
		files, _ := filepath.Glob(filepath.Join(dir, "block-*.dat"))
		got, err := os.ReadFile(files[0])
		if err != nil || len(got) != 1<<20 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if _, err := exec.LookPath("fio"); err != nil {
			t.Skip("needs fio")
		}
		fio := exec.Command("fio", "--name=a", "--rw=write", "--size=1m", "--filename=fio.dat", "--buffer_pattern="+x.fio)
		fio.Dir = dir
		if out, err := fio.CombinedOutput(); err != nil {
			t.Fatalf("fio: %v\n%s", err, out)
		}
		want, err := os.ReadFile(filepath.Join(dir, "fio.dat"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the file begins with %x, fio's with %x", x.key, got[:24], want[:24])
		}
	}
}

// TestProcessors: a job is bound to the processors of its list, and to no other that isn't there.
func TestProcessors(t *testing.T) {
	p, err := Parse("f", []byte(head+"workloads:\n  w: {rw: read, size: 1MiB, cpus_allowed: \"0-2,5\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if spec, _ := p.Workload("w"); !slices.Equal(spec.Job.CPUs, []int{0, 1, 2, 5}) {
		t.Errorf("0-2,5 are the processors %v", spec.Job.CPUs)
	}
	if r := runJob(t, t.TempDir(), "rw: read, size: 1MiB, cpus_allowed: 0"); r.Ops() != 256 {
		t.Errorf("on processor 0 %d I/Os were done, want 256", r.Ops())
	}
	job := load.Job{RW: load.Read, Size: 1 << 20, IOEngine: load.Null, CPUs: []int{mostProcessor}}
	run, err := load.Prepare(job)
	if err == nil {
		_, err = run.Start(t.Context(), nil)
		run.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "1023") {
		t.Errorf("processor 1023: %v, want that there is none", err)
	}
}
