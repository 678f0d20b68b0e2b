package trials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/refusal"
)

// The goals of a virtual machine: the time to its first I/O when it boots and when it resumes a saved one, and this
// computer's memory that it takes.
const (
	mostBoot   = 6 * time.Second
	mostGoOn   = 1500 * time.Millisecond
	mostMemory = 300_000_000
)

// shares are the ways in which machines reach what they measure, each by an engine with that share; "" is the machine's
// own disk.
var shares = []string{"", vm.Share9P, vm.ShareVirtioFS, vm.ShareSMB, vm.ShareNFS}

// startMachines prints, for each of these ways, the time from nothing to the first I/O in a machine, and the memory
// that the machine takes then.
func startMachines(ctx context.Context, stdout io.Writer, o options, state string) error {
	var all []figure.Figure
	var most int64
	for _, share := range shares {
		name, spec := "its own disk", engine.Spec{Place: place.Spec{Name: "p", Kind: place.Layer}}
		if share != "" {
			name, spec.Place.Kind = share, place.Bind
		}
		for _, boot := range []bool{true, false} {
			what, target := name+", boots", mostBoot
			if !boot {
				what, target = name+", goes on from a saved one", mostGoOn
			}
			if !boot && share == vm.ShareVirtioFS {
				continue // QEMU can't save its machines: they always boot.
			}
			e := vm.New(vm.Options{State: state, Worker: o.worker, LookPath: exec.LookPath, Kernel: o.kernel, Share: share, Boot: boot})
			times, bytes, err := starts(ctx, e, spec, o.machines)
			if lacks := new(refusal.Error); errors.As(err, &lacks) {
				all = append(all, figure.Figure{Name: name, Skipped: err.Error()})
				break
			}
			if err != nil {
				return fmt.Errorf("machine with %s: %w", name, err)
			}
			all = append(all, duration(what, times, target))
			most = max(most, bytes)
		}
	}
	if most > 0 {
		all = append(all, figure.Figure{Name: "memory of a machine, the most of these", Ours: []float64{float64(most)}, Unit: megabytes,
			Goal: figure.Goal{Op: figure.AtMost, Value: mostMemory}})
	}
	_, err := figure.Table(stdout, "start of a machine to its first I/O", "", all)
	return err
}

func megabytes(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }

// starts starts machines one after another, and returns the time of each to its first I/O, and the peak memory of any.
// It omits the first, in which the engine checks the machine, unpacks the kernel and saves what the others resume.
func starts(ctx context.Context, e engine.Engine, spec engine.Spec, rounds int) (times []time.Duration, bytes int64, err error) {
	for i := range rounds + 1 {
		begin := time.Now()
		spec.ID = fmt.Sprintf("bench-%d-%d", os.Getpid(), i)
		took, memory, err := firstIO(ctx, e, spec, begin)
		if err != nil {
			return nil, 0, err
		}
		if i > 0 {
			times, bytes = append(times, took), max(bytes, memory)
		}
	}
	return times, bytes, nil
}

// firstIO starts one machine, makes it append to a file once, and ends it.
func firstIO(ctx context.Context, e engine.Engine, spec engine.Spec, begin time.Time) (took time.Duration, bytes int64, err error) {
	s, err := e.Open(ctx, spec)
	if err != nil {
		return 0, 0, err
	}
	a, err := agent.Open(ctx, s)
	if err != nil {
		return 0, 0, errors.Join(err, s.Close(ctx))
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	if err := a.Prepare(ctx, "1", workload.Spec{Name: "append", Kind: workload.Append, Count: 1}); err != nil {
		return 0, 0, err
	}
	if err := a.Start("1"); err != nil {
		return 0, 0, err
	}
	if _, err := a.Wait(ctx, "1", nil); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	for _, pid := range procfs.Children("/proc", os.Getpid(), "qemu-system") {
		memory, err := procfs.Memory("/proc", pid)
		if err != nil {
			return 0, 0, err
		}
		bytes += memory
	}
	return took, bytes, nil
}

// isolationPlans are the plans about the cost of isolation, including machines.
var isolationPlans = []string{"raw-write", "site-build"}

// mostPlans is the maximum time of the quick forms of the two isolationPlans on two cores.
const mostPlans = 6 * time.Minute

// timePlans times the quick forms of isolationPlans; the last figure is their sum.
func timePlans(ctx context.Context, o options, state string) (all []figure.Figure, err error) {
	sum := figure.Figure{Name: strings.Join(isolationPlans, " and ") + " --quick", Ours: []float64{0}, Unit: figure.Seconds, Goal: figure.Goal{Op: figure.AtMost, Value: float64(mostPlans)}}
	for _, name := range isolationPlans {
		w := whole{"plimsoll run " + name + " --quick", []string{"run", name, "--quick"}, true, 0}
		if o.kernel != "" {
			for _, e := range []string{"vm", "virtiofs"} {
				w.args = append(w.args, "--set", "engines."+e+".kernel="+o.kernel)
			}
		}
		f, err := timeWhole(ctx, w, o.quick, o.docker, filepath.Join(state, name))
		if err != nil {
			return all, err
		}
		all = append(all, f)
		sum.Ours[0] += f.Ours[0]
	}
	return append(all, sum), nil
}
