package vm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// measure does a job and returns its rate in bytes a second, by the guest's clock.
func measure(t *testing.T, a *agent.Agent, id string, job load.Job) float64 {
	t.Helper()
	return measureFrom(t, a, id, job, func() {})
}

// measureFrom is measure, and calls begin when the job's files are laid out.
func measureFrom(t *testing.T, a *agent.Agent, id string, job load.Job, begin func()) float64 {
	t.Helper()
	if err := a.Prepare(t.Context(), id, workload.Spec{Name: "w", Kind: workload.Block, Job: job}); err != nil {
		t.Fatal(err)
	}
	begin()
	if err := a.Start(id); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, written := res.Bytes()
	return float64(written) / res.Elapsed.Seconds()
}

// TestVMLimitsOutside: a rate that holds around the machine is that of QEMU at the device under its disk, and of the daemon, or QEMU itself, at that
// under a share; a machine without limits passes it. The guest knows nothing of it.
func TestVMLimitsOutside(t *testing.T) {
	needVM(t)
	const rate = 256 << 10
	loop, dir := disktest.Disk(t, disktest.Options{Size: 512 << 20})
	// Behind each write is a sync, with which a share's server can't leave it in this machine's page cache: what gets to the disk from there is
	// charged to nobody in version 1.
	job := load.Job{RW: load.RandWrite, BS: 64 << 10, Size: 1 << 20, NumberIOs: 16, Direct: true, Fsync: 1, IOEngine: load.PSync}
	for _, share := range []string{"", vm.Share9P, vm.ShareVirtioFS, vm.ShareSMB, vm.ShareNFS} {
		kind, name := place.Bind, share
		if share == "" {
			kind, name = place.Layer, "disk"
		}
		t.Run(name, func(t *testing.T) {
			switch share {
			case vm.ShareSMB:
				needSMBD(t)
			case vm.ShareNFS:
				needGanesha(t)
			}
			o := testOptions(t, dir)
			o.Limits, o.DiskCache, o.DiskSize, o.Share = vm.LimitsOutside, "none", 64<<20, share
			id := "outside-" + name
			asked := limit.Limits{Name: "slow", WriteBPS: rate, CPUs: 1.5}
			a := openVM(t, vm.New(o), id, engine.Spec{Place: place.Spec{Name: "p", Kind: kind}, Limits: asked})
			closed := false
			defer func() {
				if !closed {
					_ = a.Close(t.Context())
				}
			}()
			free := measure(t, a, "1", job)
			hold, err := engine.HoldAll(t.Context(), []engine.Session{a.Session}, "")
			if err != nil {
				t.Fatal(err)
			}
			before := disktest.Count(t, loop)
			got := measure(t, a, "2", job)
			moved := disktest.Count(t, loop).Since(before)
			held := hold.Of(0)
			if err := hold.Release(); err != nil {
				t.Error(err)
			}
			t.Logf("%.0f B/s free, %.0f held; %+v", free, got, moved)
			// The kernel lets a tenth of a second's worth pass at once, and the job's layout is held with it.
			if got > rate*1.25 || free < rate*1.5 {
				t.Errorf("%.0f B/s with the limit and %.0f without, want %d at most and more", got, free, rate)
			}
			if !slices.ContainsFunc(held.Applied, func(l limit.Applied) bool {
				return l.Key == limit.WriteBPS && l.Value == rate && strings.HasSuffix(l.Group, "plimsoll-"+id)
			}) || !slices.ContainsFunc(held.Applied, func(l limit.Applied) bool { return l.Key == limit.CPUs && l.Value == 1.5 }) {
				t.Errorf("applied are %+v, want the rate and the CPUs, of the machine's group", held.Applied)
			}
			closed = true
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
			wantNothingLeft(t, dir, id)
			for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
				if left, _ := filepath.Glob(pattern + "plimsoll-" + id); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "vm")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
