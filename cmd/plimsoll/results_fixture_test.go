package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// plimsollResults runs "plimsoll results" in process, with no terminal.
func plimsollResults(state string, args ...string) result {
	var out, talk bytes.Buffer
	a := &app{stdin: strings.NewReader("y\n"), stdout: &out, stderr: &talk}
	status := a.run(context.Background(), append([]string{"results", "--state", state}, args...))
	return result{status, out.String(), talk.String()}
}

const (
	oldRun = "20261121-153000-3f9a" // done, 12 trials, see recorded
	newRun = "20261122-090000-aaaa" // the same a day later
	badRun = "20261123-090000-bbbb" // killed, with a failed trial
)

// recordedRuns is recorded with a third run that has something of everything.
func recordedRuns(t *testing.T) (state string, trials []record.Trial) {
	t.Helper()
	state = recorded(t)
	db := openState(t, state)
	run := record.Run{
		ID: badRun, PlanText: "name: mixed\n", Plan: "mixed", Seed: 7, Blocks: 3, Quick: true, Status: record.Running, Margin: 0.05, Version: "1.2.3", Command: "plimsoll run mixed.yaml --seed 7",
		Started:  time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC),
		Machine:  record.Machine{Hostname: "quay", OS: "Debian 12", Kernel: "6.1.0", Arch: "amd64", CPUModel: "Some CPU", CPUs: 2, Memory: 8 << 30, Virtual: "kvm", Cgroup: "v2", Clock: "tsc"},
		Ceiling:  record.Ceiling{IOPS: 5.1e6, CPUs: 2},
		IOEngine: map[string]record.EngineChoice{"mixed": {Engine: "psync", Why: "docker volume forbids io_uring (seccomp)"}},
		Baseline: map[string]string{"mixed": "mixed/host/dir"},
		Skipped:  []record.Skip{{Cell: record.Cell{Workload: "mixed", Engine: "docker", Place: "volume", Limits: "none", Clients: 2}, Reason: "no daemon answers"}},
		Warnings: []record.Warning{{Check: "quick", Severity: record.Doubt, Text: "Three blocks prove nothing."}},
	}
	mustDo(t, db.PutRun(run))
	for i := range 4 {
		tr := mixedTrial(i)
		if i == 3 {
			tr.Status, tr.Value, tr.Results, tr.Truth = record.Failed, 0, nil, nil
			tr.Phase, tr.Error, tr.Log, tr.Progress = "measure", "=killed: out of memory", "first\x1b[31m line\nsecond line\n", "3 of 5 s"
			tr.Waits = []string{"worker trial (process 7): 1 \x1b[31mstopped"}
		}
		trials = append(trials, tr)
		mustDo(t, db.PutTrial(tr))
	}
	return state, trials
}

func openState(t *testing.T, state string) *store.Store {
	t.Helper()
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	mustDo(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mixedTrial has two clients that read, write and sync.
func mixedTrial(i int) record.Trial {
	place := []string{"dir", "volume"}[i%2]
	tr := record.Trial{
		Run: badRun, Key: "mixed/host/" + place, Cell: record.Cell{Workload: "mixed", Engine: "host", Place: place, Limits: "none", Clients: 2},
		Block: i / 2, Order: 50 * i, Started: time.Date(2026, 11, 23, 9, i, 0, 0, time.UTC), Wall: 6 * time.Second, Overhead: 80 * time.Millisecond,
		Status: record.Done, Value: 1500.5 + float64(i), Metric: workload.Metric{Name: "IOPS", Unit: "1/s"},
		Spec: workload.Spec{Name: "mixed", Kind: workload.Block, Job: load.Job{RW: load.RandRW, BS: 4096}},
		// Both clients saw that the clock was set.
		Warnings: []record.Warning{{Check: "clock", Severity: record.Note, Text: "The clock was set."}, {Check: "clock", Severity: record.Note, Text: "The clock was set."},
			{Check: "steady", Severity: record.Doubt, Text: fmt.Sprintf("The rate fell by %d %% to 1.%d KiB.", 10+i, 5-i)}},
	}
	for c := range 2 {
		tr.Truth = append(tr.Truth, record.Truth{AppRead: 2 << 20, AppWritten: 1 << 20, ProcRead: 2 << 20, ProcWritten: 1 << 20, CgroupRead: -1, CgroupWritten: -1,
			Device: "vda", DeviceRead: 4 << 20, DeviceWritten: 3 << 20, DeviceBusy: time.Second})
		tr.Where = append(tr.Where, record.Where{FSType: "ext4", Source: "/dev/vda1", Options: "rw", Kernel: "6.1.0", Runtime: "runc 1.1.5",
			Device: &record.Device{Name: "vda", Size: 64 << 30, Scheduler: "none", WriteCache: "write back"}})
		tr.Results = append(tr.Results, workload.Result{
			IOEngine: "psync", Elapsed: time.Duration(5+c) * time.Second, Usage: load.Usage{User: time.Second, System: 2 * time.Second, MaxRSS: 9 << 20},
			Samples: []load.Sample{{At: time.Second, Ops: 300, Bytes: 300 << 12}},
			Classes: []load.Class{
				{Name: "read", Ops: 1000, Bytes: 1000 << 12, Lat: latency(100*time.Microsecond, 1000)},
				{Name: "write", Ops: 500, Bytes: 500 << 12, Lat: latency(900*time.Microsecond, 500)},
				{Name: "sync", Ops: 10, Lat: latency(8*time.Millisecond, 10)},
			},
		})
	}
	return tr
}

func latency(d time.Duration, n int) *hist.Histogram {
	h := new(hist.Histogram)
	for range n {
		h.Record(int64(d))
	}
	return h
}
