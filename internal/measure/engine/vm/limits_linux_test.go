package vm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Rates of TestVMLimits, which a machine without limits passes beside any other work. What a job lays out would take four minutes at the rate of
// writes.
const (
	testWriteBPS, testReadBPS   = 64 << 10, 256 << 10
	testWriteIOPS, testReadIOPS = 10, 10
	layoutBytes                 = 16 << 20
)

// rateJobs are jobs that meet one of those rates each, long before the others.
var rateJobs = []struct {
	key  limit.Key
	job  load.Job
	ops  bool
	rate float64
}{
	{limit.WriteBPS, load.Job{RW: load.RandWrite, BS: 16 << 10, NumberIOs: 10}, false, testWriteBPS},
	{limit.WriteIOPS, load.Job{RW: load.RandWrite, BS: 512, NumberIOs: 20}, true, testWriteIOPS},
	{limit.ReadBPS, load.Job{RW: load.RandRead, BS: 64 << 10, NumberIOs: 10}, false, testReadBPS},
	{limit.ReadIOPS, load.Job{RW: load.RandRead, BS: 4 << 10, NumberIOs: 20}, true, testReadIOPS},
}

// measureIn runs a job in a machine.
func measureIn(t *testing.T, a *agent.Agent, id string, job load.Job) *workload.Result {
	t.Helper()
	if err := a.Prepare(t.Context(), id, workload.Spec{Name: id, Kind: workload.Block, Job: job}); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(id); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// mostCPUs is another limit of TestVMLimits, a number that cuts off wrong as a float64.
const mostCPUs = 0.29

// TestVMLimits: limits hold inside the guest; those on rates while a trial is measured, and not while its files are laid out. Without them the same
// machine passes each, until it has no more memory.
func TestVMLimits(t *testing.T) {
	needVM(t)
	o := testOptions(t, sharedState(t))
	e := vm.New(o)
	for _, tt := range []struct {
		name   string
		limits limit.Limits
	}{
		{"none", limit.Limits{}},
		{"rates", limit.Limits{Name: "slow", WriteBPS: testWriteBPS, ReadBPS: testReadBPS, WriteIOPS: testWriteIOPS, ReadIOPS: testReadIOPS}},
		{"cpus", limit.Limits{Name: "few", CPUs: mostCPUs}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := openVM(t, e, "limits-"+tt.name, engine.Spec{Place: place.Spec{Name: "layer", Kind: place.Layer}, Limits: tt.limits})
			defer wantNothingLeft(t, o.State, "limits-"+tt.name)
			defer func() {
				if err := a.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			if tt.name != "cpus" {
				testRates(t, a, tt.limits.IO())
			}
			if tt.name != "rates" {
				testCPUs(t, a, tt.limits.CPUs > 0)
			}
			if tt.name == "none" {
				testOutOfMemory(t, a)
			}
			if !strings.HasPrefix(a.Info().Storage, "virtio-blk, raw, cache=writeback") || !strings.HasPrefix(a.Info().Runtime, "qemu ") {
				t.Errorf("Info() = %+v, want the disk and QEMU in words", a.Info())
			}
		})
	}
}

// testRates looks whether each rate holds a machine, and what is laid out.
func testRates(t *testing.T, a *agent.Agent, limited bool) {
	t.Helper()
	for _, r := range rateJobs {
		r.job.Size, r.job.Direct, r.job.IOEngine = layoutBytes, true, load.PSync
		res := measureIn(t, a, string(r.key), r.job)
		read, written := res.Bytes()
		got := float64(read + written)
		if r.ops {
			got /= float64(r.job.BS)
		}
		got /= res.Elapsed.Seconds()
		t.Logf("%s: %.0f a second, laid out in %v", r.key, got, res.Prepared)
		// The kernel lets the first I/O pass, and a tenth of a second's worth at once.
		if held := got <= r.rate*1.35; held != limited {
			t.Errorf("%s: %.0f a second, of which the limit is %.0f", r.key, got, r.rate)
		}
		// No timing: half of it is a hundred times as long as it takes.
		if held := time.Duration(layoutBytes / testWriteBPS * time.Second); res.Prepared == 0 || res.Prepared > held/2 {
			t.Errorf("%s: its files took %v, and %v at the rate of writes", r.key, res.Prepared, held)
		}
	}
}

// testCPUs looks whether the worker has the processors of its limit, and the record tells how often it was stopped for that.
func testCPUs(t *testing.T, a *agent.Agent, limited bool) {
	t.Helper()
	res := measureIn(t, a, "busy", load.Job{RW: load.RandRead, BS: 4 << 10, Size: 1 << 20, Runtime: 2 * time.Second, IOEngine: load.Null})
	got := (res.Usage.User + res.Usage.System).Seconds() / res.Elapsed.Seconds()
	t.Logf("%.2f processors, stopped %+v", got, res.Throttled)
	if limited && got > mostCPUs*1.35 {
		t.Errorf("the worker had %.2f processors, of which the limit is %.2f", got, mostCPUs)
	}
	if stopped := res.Throttled.Periods > 0 && res.Throttled.Time > 0; stopped != limited {
		t.Errorf("the worker was stopped %+v, want so: %v", res.Throttled, limited)
	}
}

// testOutOfMemory: a trial that the guest's kernel kills since the machine has no more memory says so, with what it has; the machine serves
// the next.
func testOutOfMemory(t *testing.T, a *agent.Agent) {
	t.Helper()
	// Its buffers are twice what the machine has, in pieces that the kernel promises.
	job := load.Job{RW: load.RandWrite, BS: 4 << 20, Size: 16 << 20, IODepth: 32, NumJobs: 4, NumberIOs: 64, IOEngine: load.IOUring}
	err := a.Prepare(t.Context(), "big", workload.Spec{Name: "big", Kind: workload.Block, Job: job})
	if err == nil {
		if err = a.Start("big"); err == nil {
			_, err = a.Wait(t.Context(), "big", nil)
		}
	}
	var te *agent.TrialError
	if !errors.As(err, &te) || !strings.Contains(te.Text, "out of memory (the guest's own: 2") || !strings.Contains(te.Text, " MiB in all)") {
		t.Errorf("a trial in too little memory = %v, want it to name the guest's", err)
	}
	appends(t, a)
}
