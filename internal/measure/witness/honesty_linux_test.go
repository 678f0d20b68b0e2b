package witness

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

func TestMain(m *testing.M) {
	paralleltest.AtOnce(4)
	os.Exit(m.Run())
}

// The tests of this file bring about what the honesty checks are for, and measure it
// with a real worker: the numbers are those of research's table of pitfalls.

// TestPageCacheAnswers is pitfall 1.
func TestPageCacheAnswers(t *testing.T) {
	_, dir := disk(t, "")
	b := newBench(t, dir)
	spec := job(load.RandRead, 10*512) // Ten times the file.
	spec.Job.Direct = false
	tr := b.run(t, spec)
	wantWarning(t, tr, check.Cache, record.Doubt, "came from the device", "the speed of memory")

	spec = job(load.RandWrite, 10*512)
	spec.Job.Direct = false
	wantWarning(t, b.run(t, spec), check.Cache, record.Doubt, "reached the device", "the speed of memory")

	spec.Job.EndFsync = true
	spec.Job.NumberIOs = 512 // Each block once, and all of them synced.
	wantNone(t, b.run(t, spec), check.Cache)
}

// TestDirectWithoutEffect is pitfall 2: an ext4 that journals its data takes O_DIRECT and
// does buffered I/O.
func TestDirectWithoutEffect(t *testing.T) {
	_, dir := disk(t, "data=journal")
	b := newBench(t, dir)
	tr := b.run(t, job(load.RandRead, 10*512))
	f := tr.Results[0].File
	if !f.DirectAsked || !f.DirectOpen {
		t.Fatalf("O_DIRECT was refused: %+v", f)
	}
	wantWarning(t, tr, check.Direct, record.Doubt, "O_DIRECT was accepted")
	wantWarning(t, tr, check.Cache, record.Doubt, "although O_DIRECT was accepted")
}

// TestUnwrittenExtents is pitfall 3: blocks that were reserved and never written.
func TestUnwrittenExtents(t *testing.T) {
	_, dir := disk(t, "")
	b := newBench(t, dir)
	b.target = filepath.Join(dir, "reserved")
	f, err := os.Create(b.target)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 4<<20); err != nil {
		t.Fatal(err)
	}
	spec := job(load.RandRead, 100)
	spec.Job.Filename = b.target
	if err := b.agent.Prepare(t.Context(), "1", spec); err == nil || !strings.Contains(err.Error(), "allocated but never written") {
		t.Errorf("a read of reserved blocks: %v, want it refused", err)
	}
	wantWarning(t, b.run(t, job(load.RandWrite, 100)), check.Unwritten, record.Note, "are unwritten")

	// Another program spoils the file while it is measured.
	b.target = ""
	spec = job(load.RandRead, 0)
	spec.Job.Runtime = 300 * time.Millisecond
	b.during = func() {
		files, _ := filepath.Glob(filepath.Join(dir, "plimsoll-*", "block-*.dat"))
		if len(files) != 1 {
			t.Fatalf("the worker's files are %v", files)
		}
		g, err := os.OpenFile(files[0], os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := unix.Fallocate(int(g.Fd()), unix.FALLOC_FL_ZERO_RANGE, 1<<20, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	wantWarning(t, b.run(t, spec), check.Unwritten, record.Doubt, "return zeros without I/O")
	b.during = nil
	wantNone(t, b.run(t, spec), check.Unwritten) // The next layout has seen it, and begun anew.
}

// TestLieCompressing is pitfall 6: it is said, and the worker's data isn't compressed, although the file system tries. Data
// that can be is, which is said too.
func TestLieCompressing(t *testing.T) {
	_, dir := disktest.Disk(t, disktest.Options{Kind: "btrfs", Size: 256 << 20, Direct: true, Mount: "compress-force=zstd"})
	b := newBench(t, dir)
	spec := job(load.Write, 512)
	spec.Job.Direct, spec.Job.EndFsync, spec.Job.BS = false, true, 128<<10
	spec.Job.Size, spec.Job.NumberIOs = 16<<20, 128
	tr := b.run(t, spec)
	wantWarning(t, tr, check.Compressible, record.Note, "compress-force=zstd")
	if tt := tr.Truth[0]; tt.AppWritten != 16<<20 || tt.DeviceWritten < tt.AppWritten {
		t.Errorf("%d bytes were written and %d reached the device: they could be compressed", tt.AppWritten, tt.DeviceWritten)
	}
	spec.Job.Data = load.DataZero
	tr = b.run(t, spec)
	wantWarning(t, tr, check.Compressible, record.Note, "makes data that it can reduce")
	wantNone(t, tr, check.Cache) // Its syncs are done.
	if tt := tr.Truth[0]; tt.DeviceWritten > tt.AppWritten/2 {
		t.Errorf("%d zeros were written and %d bytes reached the device: it does not compress", tt.AppWritten, tt.DeviceWritten)
	}
	log := workload.Spec{Kind: workload.WAL, Runtime: 300 * time.Millisecond, BS: 64 << 10}
	tr = b.run(t, log)
	if tt := tr.Truth[0]; tt.AppWritten < 16*log.BS || tt.DeviceWritten < tt.AppWritten*9/10 {
		t.Errorf("of a log %d bytes were written and %d reached the device: they could be compressed", tt.AppWritten, tt.DeviceWritten)
	}
}

// TestThrottledGenerator is pitfall 7: the CPU controller stops the worker. The null engine asks for CPU and
// nothing else: a worker that waits for a busy disk is never stopped, and rightly there is no doubt then.
func TestThrottledGenerator(t *testing.T) {
	_, dir := disk(t, "")
	e := oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
	if p := e.Probe(t.Context()); !p.OK {
		t.Skipf("needs an OCI runtime: %s", p.Missing)
	}
	limits := limit.Limits{Name: "slow", CPUs: 0.1}
	b := openBench(t, e, engine.Spec{Place: place.Spec{Name: "b", Kind: place.Bind, Path: dir}, Limits: limits})
	spec := job(load.RandRead, 0)
	spec.Job.Direct, spec.Job.IOEngine, spec.Job.Runtime = false, load.Null, time.Second
	tr := b.run(t, spec)
	if s := tr.Results[0].Throttled; s.Periods < 2 || s.Time < 100*time.Millisecond {
		t.Errorf("in a second of ten periods with 10 ms of CPU each the worker was stopped in %d, for %v", s.Periods, s.Time)
	}
	// The check doesn't know of the limit here; in a cell that has one it is a note.
	wantWarning(t, tr, check.Throttled, record.Doubt, "The CPU controller stopped the worker")
}

// TestNeighbours is pitfall 10: others use the device, or the CPUs.
func TestNeighbours(t *testing.T) {
	_, dir := disk(t, "")
	b := newBench(t, dir)
	spec := job(load.RandRead, 0)
	spec.Job.Runtime, spec.Job.RateIOPS = 600*time.Millisecond, 200
	b.run(t, spec) // The layout.
	b.during = func() {
		for _, args := range [][]string{
			{"if=/dev/zero", "of=" + dir + "/other", "bs=1M", "count=24", "oflag=direct", "status=none"},
			{"if=" + dir + "/other", "of=/dev/null", "bs=1M", "iflag=direct", "status=none"},
		} {
			if out, err := exec.Command("dd", args...).CombinedOutput(); err != nil {
				t.Errorf("dd: %v: %s", err, out)
			}
		}
	}
	wantWarning(t, b.run(t, spec), check.Neighbour, record.Doubt, "something else was using the device")

	b.machine.Machine.CPUs = runtime.NumCPU()
	var stop atomic.Bool
	b.during = func() {
		for range 2 * runtime.NumCPU() {
			go func() {
				for !stop.Load() {
				}
			}()
		}
	}
	tr := b.run(t, spec)
	stop.Store(true)
	busy := slices.IndexFunc(tr.Warnings, func(w record.Warning) bool {
		return w.Check == check.Neighbour && strings.Contains(strings.ToLower(w.Text), "work other than the worker's")
	})
	if busy < 0 {
		t.Errorf("%d spinning threads, and no warning: %+v, host %+v", 2*runtime.NumCPU(), tr.Warnings, tr.Results[0].Host)
	}
}

// TestHiddenWrites is pitfall 21: a small commit costs the device a block and a journal.
func TestHiddenWrites(t *testing.T) {
	// In memory: what other programs do on a disk beneath would hide what the log's own journal did.
	_, dir := disktest.Disk(t, disktest.Options{Size: 128 << 20, Memory: true})
	tr := newBench(t, dir).run(t, workload.Spec{Kind: workload.WAL, Count: 250, Runtime: time.Minute}) // A second has too few on a busy machine.
	tt := tr.Truth[0]
	// The last commit may have ended after the window: its bytes are counted, its rate is not.
	n := tr.Results[0].Classes[0].Ops
	if tt.AppWritten != n*2300 && tt.AppWritten != (n+1)*2300 || tt.DeviceWritten < n*4096 {
		t.Errorf("%d commits: %d bytes written, %d by the device", n, tt.AppWritten, tt.DeviceWritten)
	}
	wantWarning(t, tr, check.Amplification, record.Note, "bytes for each byte written", "metadata and journal")
}

// TestCreditsUsedUp is pitfall 9: a device that is fast at first and slow after. So is one that was held up first,
// and one that gets slower under a rate that it can still carry.
func TestCreditsUsedUp(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		before, after int // reads a second that the device allows, fewer than a busy machine can do; 0: no limit
		rate          int64
		severity      string
		want          string
	}{
		{"fall", 200, 20, 0, record.Doubt, "fell from"},
		{"rise", 20, 200, 0, record.Doubt, "rose from"},
		// Twenty I/Os are due at once, twice a second, and then wait for each other: the kernel lets six go each 100 ms.
		{"slower, and still fast enough", 0, 60, 2, record.Note, "the mean service time went from one level to another"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			group := disktest.NewBlkioGroup(t)
			loop, dir := disktest.Disk(t, disktest.Options{Size: 128 << 20, Memory: true})
			// allow bounds the reads a second; 0: not at all.
			allow := func(iops int) {
				if err := group.Put("blkio.throttle.read_iops_device", fmt.Sprintf("%s %d", disktest.Number(t, loop), iops)); err != nil {
					t.Error(err)
				}
			}
			b := newBench(t, dir)
			spec := job(load.RandRead, 0)
			spec.Job.Runtime = 10 * time.Second // A window of samples that are long enough to judge.
			if row.rate > 0 {
				spec.Job.RateIOPS, spec.Job.NumJobs = row.rate, 20
			}
			allow(row.before)
			defer allow(0)
			b.during = func() {
				for _, pid := range trialOf(b.agent) {
					if err := group.Add(pid); err != nil {
						t.Error(err)
					}
				}
				time.AfterFunc(5*time.Second, func() { allow(row.after) })
			}
			tr := b.run(t, spec)
			// Where others use the CPUs, their steps may hide the device's.
			for tries := 1; tries < 4 && !warned(tr, check.Burst) && warned(tr, check.Neighbour); tries++ {
				allow(row.before)
				tr = b.run(t, spec)
			}
			wantWarning(t, tr, check.Burst, row.severity, row.want)
			for _, w := range tr.Warnings {
				var e struct {
					At     int64 `json:"at_sample"`
					Sample int64 `json:"step_ns"`
				}
				if w.Check != check.Burst {
					continue
				}
				if err := json.Unmarshal(w.Evidence, &e); err != nil || time.Duration(e.At*e.Sample) < 3*time.Second || time.Duration(e.At*e.Sample) > 8*time.Second {
					t.Errorf("the limit changed after 5 s; evidence %s", w.Evidence)
				}
			}
		})
	}
}

// trialOf lists the processes that an agent has started for its trial.
func trialOf(a *agent.Agent) []int {
	var pids []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", a.Session.Info().PID))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, w := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}
