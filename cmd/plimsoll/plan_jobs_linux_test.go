package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/plan"
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

// TestJobFilesArePlans: each job is a workload, in the default plan's engines and places, and what a plan can't keep is refused.
func TestJobFilesArePlans(t *testing.T) {
	state, there := t.TempDir(), filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r := plimsoll(t, t.Context(), state, "", "plan", "show", jobFile(t, someJobs))
	p, err := plan.Parse("shown", []byte(r.stdout))
	if err != nil {
		t.Fatalf("%v in\n%s%s", err, r.stdout, r.stderr)
	}
	if p.Name != "my_jobs" || p.IOEngine != load.LinuxAIO || len(p.Workloads) != 2 || len(p.Engines) < 3 || len(p.Places) < 4 || p.Baseline == nil {
		t.Errorf("the plan is\n%s", r.stdout)
	}
	seq, rand := p.Workloads[0], p.Workloads[1]
	if seq.Name != "seq_read" || seq.Job.RW != load.Read || seq.Job.BS != 64<<10 || seq.Job.Size != 16<<20 || seq.Job.Runtime != 0 || !seq.Job.Direct {
		t.Errorf("%+v", seq)
	}
	if rand.Name != "rand" || rand.Job.IODepth != 8 || rand.Job.NumJobs != 2 || !rand.Job.RandomMap || rand.Job.Runtime == 0 {
		t.Errorf("%+v", rand)
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
		r := plimsoll(t, t.Context(), state, "", "plan", "check", jobFile(t, "[a]\nrw=read\nsize=1m\n"+more+"\n"))
		if r.status != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, %s; want %q", more, r.status, r.stderr, want)
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
		if r := plimsoll(t, t.Context(), state, "", "plan", "show", jobFile(t, "[a]\nrw=read\nsize=1m\n"+more+"\n")); r.status != exitDone || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: status %d, %s%s; want %q", more, r.status, r.stdout, r.stderr, want)
		}
	}
	if r := plimsoll(t, t.Context(), state, "[a]\nrw=read\nsize=1m\n[b]\nrw=write\nsize=1m\n", "plan", "check", "-"); r.status != exitDone || !strings.Contains(r.stderr, "start together") {
		t.Errorf("standard input: status %d, %s", r.status, r.stderr)
	}
}

// TestFiosExamplesArePlans counts those of fio's own examples that are plans from the first key to the last.
func TestFiosExamplesArePlans(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("dpkg", "-L", "fio-examples").Output()
	if err != nil {
		t.Fatalf("fio-examples: %v: run scripts/setup test", err)
	}
	state, plans := t.TempDir(), []string(nil)
	for _, path := range strings.Fields(string(out)) {
		if filepath.Ext(path) == ".fio" && plimsoll(t, t.Context(), state, "", "plan", "check", path).status == exitDone {
			plans = append(plans, filepath.Base(path))
		}
	}
	if len(plans) < 17 || !slices.Contains(plans, "1mbs_clients.fio") {
		t.Errorf("%d of fio's examples are plans: %q, want 17", len(plans), plans)
	}
}

// TestJobFilesAreRun: the report has the jobs by their names, and so has the record of a line.
func TestJobFilesAreRun(t *testing.T) {
	state, file := t.TempDir(), jobFile(t, someJobs)
	r := plimsoll(t, t.Context(), state, "", "run", file, "--only", "engine=host,place=dir", "--blocks", "2", "--json")
	if r.status != exitDone || !strings.Contains(r.stdout, "seq_read") || !strings.Contains(r.stdout, "rand") {
		t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	r = plimsoll(t, t.Context(), state, "", "fio", "--directory="+state, "--name=first", "--rw=read", "--size=1m", "--name=second", "--rw=read", "--size=1m", "--name=third", "--rw=read", "--size=1m", "--stonewall", "--record")
	if r.status != exitDone {
		t.Fatalf("status %d, %s", r.status, r.stderr)
	}
	if r = plimsoll(t, t.Context(), state, "", "results", "show", "last", "--trial", "third/host/dir"); r.status != exitDone || !strings.Contains(r.stdout, "third/host/dir") {
		t.Errorf("the trial of a job by its key: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	if r = plimsoll(t, t.Context(), state, "", "results", "show", "last", "--plan"); r.status != exitUsage || !strings.Contains(r.stderr, "was no plan: run its line again: plimsoll fio") {
		t.Errorf("the plan of a line: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
	if r = plimsoll(t, t.Context(), state, "", "report", "last", "--json"); !strings.Contains(r.stdout, "first+second") || !strings.Contains(r.stdout, "third") {
		t.Errorf("the record is\n%s%s", r.stdout, r.stderr)
	}
}
