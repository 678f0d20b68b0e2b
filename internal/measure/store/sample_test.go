package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// start is the time of the first trial in tests.
var start = time.Date(2026, 11, 21, 15, 30, 0, 123456789, time.UTC)

// openTemp opens a new database that goes away with the test.
func openTemp(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state", "plimsoll.db"))
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// must fails the test at once.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sampleRun fills every field that a run of the places plan would.
func sampleRun(id string) record.Run {
	return record.Run{
		ID: id, Plan: "places", PlanText: "name: places\nblocks: 6\n", Command: "plimsoll run places --seed 7",
		Version: "1.2.3", Seed: math.MaxUint64, Blocks: 6, Started: start, Status: record.Running,
		Machine:  record.Machine{Hostname: "h", OS: "Debian 12", Kernel: "6.1.0", Arch: "amd64", CPUs: 2, Memory: 8 << 30, Cgroup: "hybrid", Clock: "tsc"},
		Ceiling:  record.Ceiling{IOPS: 5e6, CPUs: 2},
		IOEngine: map[string]record.EngineChoice{"randread": {Engine: "psync", Why: "docker/volume forbids io_uring (seccomp)"}},
		Baseline: map[string]string{"randread": "randread/host/dir/none/1"}, Margin: 0.05,
		Skipped:  []record.Skip{{Cell: record.Cell{Workload: "tree", Engine: "docker", Place: "volume", Limits: "none", Clients: 1}, Reason: "no daemon"}},
		Warnings: []record.Warning{{Check: "governor", Severity: record.Note, Text: "The clock of the CPU moves.", Evidence: json.RawMessage(`{"a":1}`)}},
	}
}

// cells are those of the sample trials.
func sampleCell(i int) record.Cell {
	return record.Cell{Workload: "randread", Engine: []string{"host", "oci", "docker"}[i%3],
		Place: []string{"dir", "layer", "bind", "volume"}[i/3%4], Limits: "none", Clients: 1 + i/12}
}

func key(c record.Cell) string {
	return fmt.Sprintf("%s/%s/%s/%s/%d", c.Workload, c.Engine, c.Place, c.Limits, c.Clients)
}

// sampleTrial is a block job of some seconds, the i-th trial of run.
func sampleTrial(run string, i, cells int) record.Trial {
	rnd := rand.New(rand.NewPCG(1, uint64(i)))
	cell := sampleCell(i % cells)
	t := record.Trial{
		Run: run, Cell: cell, Key: key(cell), Block: i / cells, Order: i,
		Started: start.Add(time.Duration(i) * 6 * time.Second), Wall: 6 * time.Second, Overhead: 91234567, SessionOpen: 71234567,
		Status: record.Done,
		Spec: workload.Spec{Name: "randread", Kind: workload.Block, Job: load.Job{RW: load.RandRW, BS: 4096, IODepth: 32,
			NumJobs: 1, Size: 256 << 20, Runtime: 5 * time.Second, RampTime: time.Second, Direct: true}},
		Metric: workload.Metric{Name: "IOPS", Unit: "1/s"}, Value: 80000 + 1000*rnd.NormFloat64(),
		Truth: []record.Truth{{AppRead: 1<<30 + rnd.Int64N(1<<20), ProcRead: 1<<30 + rnd.Int64N(1<<20), CgroupRead: -1, CgroupWritten: -1,
			Device: "vda", DeviceRead: 1<<30 + rnd.Int64N(1<<20), DeviceBusy: 4900 * time.Millisecond}},
		Where: []record.Where{{FSType: "ext4", Options: "rw,relatime,errors=remount-ro", Source: "/dev/vda1", Kernel: "6.1.0-18-amd64",
			Device:  &record.Device{Name: "vda", Number: device.Number{Major: 254}, Size: 256 << 30, Scheduler: "none", NrRequests: 256, WriteCache: "write back", LogicalBS: 512, Stack: []string{"vda1", "vda"}},
			Runtime: "runc 1.1.5", Storage: "overlay", CgroupVersion: 1}},
		Warnings: []record.Warning{{Check: "steady", Severity: record.Doubt, Text: "The rate fell by 12 % over the window.", Evidence: json.RawMessage(`{"slope":-0.12}`)}},
	}
	for range cell.Clients {
		t.Results = append(t.Results, sampleResult(rnd))
	}
	return t
}

func sampleResult(rnd *rand.Rand) workload.Result {
	r := workload.Result{
		IOEngine: load.IOUring, Elapsed: 5 * time.Second, WallElapsed: 5*time.Second + 1234, Start: start,
		Classes: []load.Class{{Name: "read", Ops: 200000, Bytes: 200000 << 12, Lat: sampleHist(rnd, 60000)},
			{Name: "write", Ops: 200000, Bytes: 200000 << 12, Lat: sampleHist(rnd, 300000)}},
		Usage:    load.Usage{User: time.Duration(rnd.Int64N(1e9)), System: time.Duration(rnd.Int64N(4e9)), MaxRSS: 20 << 20},
		ProcRead: 1<<30 + rnd.Int64N(1<<20), ProcWritten: 0,
		Disks:    []workload.DiskDelta{{Number: device.Number{Major: 254}, Name: "vda", Reads: 200000 + rnd.Int64N(1000), ReadBytes: 1<<30 + rnd.Int64N(1<<20), Busy: 4900 * time.Millisecond}},
		File:     workload.FileState{Size: 256 << 20, Extents: 3, DirectAsked: true, DirectOpen: true, DIOAlign: 512, Resident: 0.01},
		Prepared: 700 * time.Millisecond,
		Host:     workload.HostDelta{CPUBusy: rnd.Float64(), Steal: 0, IOSome: rnd.Float64()},
	}
	for i := range 5 {
		r.Samples = append(r.Samples, load.Sample{At: time.Duration(i+1) * time.Second, Ops: 80000 + rnd.Int64N(999), Bytes: 80000 << 12})
	}
	return r
}

// sampleHist has the spread of a real device: about 250 buckets.
func sampleHist(rnd *rand.Rand, median float64) *hist.Histogram {
	h := new(hist.Histogram)
	for range 4000 {
		h.Record(int64(median * math.Exp(0.5*rnd.NormFloat64())))
	}
	return h
}
