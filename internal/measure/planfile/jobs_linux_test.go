package planfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/usage"
	"plimsoll/load"
)

// jobFile makes a job file.
func jobFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "my jobs.fio")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const someJobs = `[global]
ioengine=libaio
direct=1
size=16m
[seq read]
rw=read
bs=64k
[rand]
stonewall
rw=randread
iodepth=8
numjobs=2
filename=shared
time_based
runtime=100ms
`

// planOf parses the plan of a job file.
func planOf(t *testing.T, file string) (p *plan.Plan, text string, err error) {
	t.Helper()
	name, b, err := Read(t.Context(), file, strings.NewReader(""), func(string) {})
	if err != nil {
		return nil, "", err
	}
	p, err = plan.Parse(name, b)
	return p, string(b), err
}

// TestJobFilesArePlans: each job is a workload, in the default plan's engines and places, and what a plan can't keep is refused.
func TestJobFilesArePlans(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p, text, err := planOf(t, jobFile(t, someJobs))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if p.Name != "my_jobs" || p.IOEngine != load.LinuxAIO {
		t.Errorf("plan %q with I/O engine %q, want my_jobs with %s", p.Name, p.IOEngine, load.LinuxAIO)
	}
	if len(p.Workloads) != 2 {
		t.Fatalf("%d workloads, want 2, in\n%s", len(p.Workloads), text)
	}
	if len(p.Engines) < 3 || len(p.Places) < 4 {
		t.Errorf("%d engines and %d places, want 3 and 4 at least, in\n%s", len(p.Engines), len(p.Places), text)
	}
	if p.Baseline == nil {
		t.Errorf("there is no baseline in\n%s", text)
	}
	seq, rand := p.Workloads[0], p.Workloads[1]
	if seq.Name != "seq_read" || seq.Job.RW != load.Read || !seq.Job.Direct {
		t.Errorf("the first workload is %+v, want seq_read with direct reads", seq)
	}
	if seq.Job.BS != 64<<10 || seq.Job.Size != 16<<20 || seq.Job.Runtime != 0 {
		t.Errorf("the first workload is %+v, want 16 MiB in blocks of 64 KiB, without a runtime", seq)
	}
	if rand.Name != "rand" || rand.Job.IODepth != 8 || rand.Job.NumJobs != 2 {
		t.Errorf("the second workload is %+v, want rand with 2 jobs at depth 8", rand)
	}
	if !rand.Job.RandomMap || rand.Job.Runtime == 0 {
		t.Errorf("the second workload is %+v, want a random map and a runtime", rand)
	}
	for more, want := range map[string]string{
		"ioengine=mmap\ndirect=1":                              "direct=1 contradicts ioengine=mmap",
		"nrfiles=2\nrw=write\nverify=crc32c":                   "jobs.fio:1: verify: a plan's workload verifies one file",
		"rate=10\nsize=64m":                                    "jobs.fio:1: job a as a plan's workload: takes 24h or more",
		"directory=/a:/b:/c:/d:/e\nnumjobs=5":                  "jobs.fio:1: /e is one folder too many: a plan makes places of up to 4",
		"size=50%\nfilename=/not/there":                        "give a size",
		"size=0\nfilename=/dev/null":                           "give a size in bytes",
		"rw=trim":                                              "trims need a device",
		"runtime=2d":                                           "out of range",
		"numa_cpu_nodes=0":                                     "numa_cpu_nodes",
		"steadystate=iops:1%\nss_dur=2\ntime_based\nruntime=9": "steadystate",
		"nonsense=1":                                           "there is no option nonsense",
	} {
		_, _, err := planOf(t, jobFile(t, "[a]\nrw=read\nsize=1m\n"+more+"\n"))
		if !usage.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a usage error with %q", more, err, want)
		}
	}
	for more, want := range map[string]string{
		"rate=1m,2m\nrw=rw\ntime_based\nruntime=9":               "rate: 1MiB, write_rate: 2MiB",
		"ioengine=psync\n[b]\nrw=read\nsize=1m\nioengine=libaio": "io_engine: psync}\n  b: {rw: read, bs: 4KiB, iodepth: 1, numjobs: 1, size: 1MiB, io_engine: linux-aio}",
		"nrfiles=4\nioengine=mmap\nfile_service_type=random":     "size: 256KiB, files: 4, file_service_type: random, io_engine: mmap}",
		"directory=/a:/b\nnumjobs=2":                             "dir: {path: /a}\n  layer: {}\n  bind: {path: /a}\n  volume: {}\n  tmpfs: {}\n  dir-2: {kind: dir, path: /b}\n  bind-2: {kind: bind, path: /b}\n",
		"numjobs=4":                                              "numjobs: 4, offset_increment: 1MiB, size: 1MiB}",
		"numjobs=4\nfilename=x":                                  "numjobs: 4, whole_region: true, size: 1MiB}",
		"runtime=10m":                                            "runtime: 10m, io_size: 1MiB}\n",
		"time_based\nruntime=10m":                                "timeout: 11m",
		"rw=randread\nnorandommap":                               "norandommap: true",
		"size=100%\nfilename=" + there:                           "size: 3MiB}",
	} {
		if _, text, err := planOf(t, jobFile(t, "[a]\nrw=read\nsize=1m\n"+more+"\n")); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %s; want %q", more, err, text, want)
		}
	}
	var notes []string
	stdin := strings.NewReader("[a]\nrw=read\nsize=1m\n[b]\nrw=write\nsize=1m\n")
	if _, _, err := Read(t.Context(), "-", stdin, func(n string) { notes = append(notes, n) }); err != nil || !strings.Contains(strings.Join(notes, "\n"), "start together") {
		t.Errorf("standard input: %v, %q", err, notes)
	}
}

// TestFiosExamplesArePlans counts those of fio's own examples that are plans from the first key to the last.
func TestFiosExamplesArePlans(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("dpkg", "-L", "fio-examples").Output()
	if err != nil {
		t.Fatalf("fio-examples: %v: run scripts/setup test", err)
	}
	var plans []string
	for _, path := range strings.Fields(string(out)) {
		if filepath.Ext(path) != ".fio" {
			continue
		}
		if _, _, err := planOf(t, path); err == nil {
			plans = append(plans, filepath.Base(path))
		}
	}
	if len(plans) < 17 || !slices.Contains(plans, "1mbs_clients.fio") {
		t.Errorf("%d of fio's examples are plans: %q, want 17", len(plans), plans)
	}
}
