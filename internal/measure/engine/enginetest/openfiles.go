//go:build linux

package enginetest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// lowFiles is the limit on open files that is to be too low: enough for everything but the job, whose
// files take an emulated processor 30 ms each to lay out.
const lowFiles = 128

// testOpenFiles: a job with more files than the caller's own limit runs in every engine, as far as the
// caller may raise that limit. By itself, a worker inherits the limit of the process that started it.
// Before: "too many open files" on the host and in oci's containers.
//
// Without CAP_SYS_RESOURCE nobody may raise the hard limit, and it is the soft one that the worker is
// not to be bound by. The guest with cgroup version 2 has the capability (make test-guest).
func testOpenFiles(t *testing.T, s Suite) {
	e := s.New(t)
	limitFiles(t)
	a := open(t, e, engine.Spec{Place: place.Spec{Name: "tmpfs", Kind: place.Tmpfs, Size: 64 << 20}})
	// With its standard input and output the worker has more than the limit.
	job := workload.StageJob{Name: "many", Size: 4096, Job: load.Job{RW: load.RandRead, BS: 4096, NumberIOs: lowFiles, IOEngine: load.PSync}}
	for i := range lowFiles {
		job.Job.Files = append(job.Job.Files, fmt.Sprintf("f%04d", i))
	}
	res, err := trial(t, a, "many", workload.Spec{Name: "many", Kind: workload.Stage, Jobs: []workload.StageJob{job}})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Ops(); n != lowFiles {
		t.Errorf("%d I/Os on %d files, want %d", n, lowFiles, lowFiles)
	}
}

// limitFiles lowers this process's limit on open files, also for what it starts, until the test
// ends: the hard one where it can be raised again, else the soft one.
func limitFiles(t *testing.T) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: lowFiles, Max: before.Max}
	switch {
	case engine.Capable(unix.CAP_SYS_RESOURCE):
		low.Max = lowFiles
	case before.Max < 3*lowFiles:
		t.Skipf("CAP_SYS_RESOURCE, or a hard limit of %d open files, is needed; this one is %d", 3*lowFiles, before.Max)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Errorf("set the limit on open files back: %v", err)
		}
	})
}
