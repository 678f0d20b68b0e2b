package check

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

const (
	ms  = time.Millisecond
	kib = 1 << 10
	mib = 1 << 20
)

// clean is a trial without any doubt: half a second of 4 KiB random direct reads on a quiet machine
// with 4 CPUs. The device did all 20,480 of them.
func clean() *record.Trial {
	const n = 20480
	disk := &record.Device{Name: "vda", Number: device.Number{Major: 254}, Stack: []string{"vda"}}
	r := workload.Result{
		IOEngine: load.IOUring, Elapsed: 500 * ms, WallElapsed: 500 * ms,
		Classes:  []load.Class{{Name: "read", Ops: n, Bytes: n * 4096}},
		Usage:    load.Usage{User: 50 * ms, System: 100 * ms},
		ProcRead: n * 4096, ProcWritten: 0,
		Disks: []workload.DiskDelta{{Number: device.Number{Major: 254}, Name: "vda", Reads: n, ReadBytes: n * 4096, Busy: 490 * ms}},
		File:  workload.FileState{Size: 256 * mib, Extents: 2, DirectAsked: true, DirectOpen: true, DIOAlign: 512, Resident: 0},
		Host:  workload.HostDelta{CPUBusy: 0.1},
	}
	t := &record.Trial{
		Cell: record.Cell{Workload: "randread", Engine: "host", Place: "dir", Limits: "none", Clients: 1}, Key: "k", Status: record.Done,
		Spec:   workload.Spec{Name: "randread", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, IODepth: 32, Direct: true, IOEngine: load.IOUring}},
		Metric: workload.Metric{Name: "IOPS", Unit: "1/s"}, Value: n * 2, Results: []workload.Result{r},
		Where: []record.Where{{FSType: "ext4", Options: "rw,relatime", Source: "/dev/vda", Kernel: "6.1", Device: disk}},
	}
	retruth(t)
	return t
}

// retruth gives clients without a place that of the first, and fills the truth of every client from its result.
func retruth(t *record.Trial) {
	t.Truth = nil
	for i := range t.Results {
		if i == len(t.Where) {
			t.Where = append(t.Where, t.Where[0])
		}
		t.Truth = append(t.Truth, Truth(&t.Results[i], t.Where[i].Device, "", -1, -1))
	}
}

// writes turns a trial into one of writes: app bytes by the application, disk
// bytes by the device.
func writes(t *record.Trial, app, disk int64) {
	t.Spec.Job.RW = load.RandWrite
	r := &t.Results[0]
	r.Classes = []load.Class{{Name: "write", Ops: 20480, Bytes: app}}
	r.ProcRead, r.ProcWritten = 0, app
	r.Disks = []workload.DiskDelta{{Number: device.Number{Major: 254}, Name: "vda", Writes: 20480, WrittenBytes: disk, Busy: 490 * ms}}
	retruth(t)
}

// reads sets what the application, the process and the device read.
func reads(t *record.Trial, app, proc, device int64) {
	r := &t.Results[0]
	r.Classes[0].Bytes, r.ProcRead, r.Disks[0].ReadBytes = app, proc, device
	retruth(t)
}

func buffered(t *record.Trial) {
	t.Spec.Job.Direct = false
	f := &t.Results[0].File
	f.DirectAsked, f.DirectOpen, f.Resident = false, false, 1
}

// named turns a trial of writes into one of a named workload.
func named(t *record.Trial, kind workload.Kind, app, device int64) {
	writes(t, app, device)
	buffered(t)
	t.Spec = workload.Spec{Name: string(kind), Kind: kind}
	t.Results[0].IOEngine = workload.Syscalls
	t.Results[0].File = workload.FileState{Extents: -1, Unwritten: -1, Shared: -1, Delalloc: -1, DIOAlign: -1, Resident: -1}
}

func testRun() *record.Run {
	return &record.Run{Machine: record.Machine{CPUs: 4}, Ceiling: record.Ceiling{IOPS: 5e6, CPUs: 4}}
}

// summary is "check/severity" of each warning.
func summary(ws []record.Warning) string {
	var s []string
	for _, w := range ws {
		s = append(s, w.Check+"/"+w.Severity)
	}
	return strings.Join(s, " ")
}

// A row is a change of the clean trial and the warnings that it gives.
type row struct {
	name string
	set  func(*record.Trial)
	// want is what summary returns.
	want string
}

// testRows holds the warnings of each row to what it wants, and their texts to a golden file named as the test.
func testRows(t *testing.T, rows []row) {
	t.Helper()
	var sheet golden.Sheet
	for _, tt := range rows {
		tr := clean()
		tt.set(tr)
		ws := Trial(tr, testRun())
		if got := summary(ws); got != tt.want {
			t.Errorf("%s: %q, want %q (%+v)", tt.name, got, tt.want, texts(ws))
			continue
		}
		if len(ws) > 0 {
			sheet.Add(tt.name, strings.Join(texts(ws), "\n"))
		}
		checkForm(t, tt.name, ws)
	}
	sheet.Check(t, t.Name()+".txt")
}

func texts(ws []record.Warning) []string {
	var s []string
	for _, w := range ws {
		s = append(s, w.Text)
	}
	return s
}

// checkForm holds warnings to their form: a known check, a sentence, evidence
// that is JSON.
func checkForm(t *testing.T, name string, ws []record.Warning) {
	t.Helper()
	for _, w := range ws {
		if !contains(IDs, w.Check) {
			t.Errorf("%s: unknown check %q", name, w.Check)
		}
		if !strings.HasSuffix(w.Text, ".") {
			t.Errorf("%s: %q is no sentence", name, w.Text)
		}
		if strings.Contains(w.Text, "%!") || strings.Contains(w.Text, "NaN") {
			t.Errorf("%s: malformed figure in %q", name, w.Text)
		}
		if !json.Valid(w.Evidence) {
			t.Errorf("%s: evidence %q is not JSON", name, w.Evidence)
		}
	}
}

func TestCleanTrialHasNoDoubt(t *testing.T) {
	testRows(t, []row{
		{"direct reads", func(*record.Trial) {}, ""},
		{"direct writes", func(t *record.Trial) { writes(t, 80*mib, 80*mib+300*kib) }, ""},
		{"sequential buffered reads with readahead", func(t *record.Trial) { buffered(t); reads(t, 80*mib, 82*mib, 82*mib) }, ""},
		{"a failed trial", func(t *record.Trial) { t.Status = record.Failed; reads(t, 80*mib, 0, 0) }, ""},
		{"no results", func(t *record.Trial) { t.Results = nil }, ""},
	})
	if ws := Trial(nil, nil); ws != nil {
		t.Errorf("Trial(nil) = %v", ws)
	}
	if ws := Trial(clean(), nil); ws != nil {
		t.Errorf("Trial without a run = %v", texts(ws))
	}
}

func TestHostileRecordsDoNotPanic(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, set := range []func(*record.Trial){
		func(t *record.Trial) {
			t.Results = []workload.Result{{}}
			t.Where = []record.Where{{}}
			t.Truth = []record.Truth{{}}
		},
		func(t *record.Trial) { t.Results[0].Classes = nil; t.Results[0].Elapsed = -1 },
		func(t *record.Trial) {
			t.Value = nan
			t.Results[0].Host = workload.HostDelta{CPUBusy: nan, Steal: nan, IOSome: nan}
		},
		func(t *record.Trial) {
			t.Value = inf
			t.Results[0].Host = workload.HostDelta{CPUBusy: inf, Steal: inf, IOSome: inf}
		},
		func(t *record.Trial) {
			t.Spec.Job.IODepth = -5
			t.Spec.Job.NumJobs = math.MaxInt
			t.Spec.Job.BS = math.MaxInt64
		},
		func(t *record.Trial) { t.Truth[0].DeviceRead = math.MaxInt64; t.Truth[0].AppRead = math.MinInt64 },
		func(t *record.Trial) { t.Results[0].Samples = make([]load.Sample, 20) },
		func(t *record.Trial) { t.Where[0].Device = &record.Device{}; t.Results[0].WallElapsed = math.MinInt64 },
		func(t *record.Trial) {
			t.Results = append(t.Results, workload.Result{}, workload.Result{IOEngine: "x"})
		},
		func(t *record.Trial) {
			// More places than clients; no places at all.
			t.Where = append(t.Where, record.Where{Host: "x", Device: &record.Device{Stack: []string{"loop0", "y"}}})
		},
		func(t *record.Trial) { t.Where, t.Truth = nil, nil },
	} {
		tr := clean()
		set(tr)
		checkForm(t, "hostile trial", Trial(tr, testRun()))
		many := make([]record.Trial, 20)
		for i := range many {
			many[i] = *tr
			many[i].Order = i
		}
		checkForm(t, "hostile run", Run(nil, many))
	}
}

func TestEveryCheckIsInTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/reference/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range IDs {
		section := "\n### `" + id + "`\n"
		_, body, ok := strings.Cut(string(manual), section)
		if !ok {
			t.Errorf("docs/reference/checks.md has no section %q", strings.TrimSpace(section))
			continue
		}
		body, _, _ = strings.Cut(body, "\n### ")
		for _, part := range []string{"Says:", "Evidence:", "Threshold:", "Do:"} {
			if n := strings.Count("\n"+body, "\n"+part); n != 1 {
				t.Errorf("docs/reference/checks.md: section %s has %d parts %q, want 1", id, n, part)
			}
		}
	}
}
