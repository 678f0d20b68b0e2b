// Package volumes measures what volumes are guaranteed beside a neighbour at full load.
//
// The disk is a loop device in memory with a limit in the root group, so that it carries the same on every machine. fio makes the load,
// in the root group too: with version 1 of control groups, the limit holds that group alone.
package volumes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/state/journal"
)

// What the disk carries and the volume is guaranteed, in I/Os per second.
const (
	carries    = 4000
	guaranteed = 1000
)

// Run runs 'bench volume' with these flags.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	fs := flag.NewFlagSet("bench volume", flag.ContinueOnError)
	fs.SetOutput(stderr)
	took := fs.Duration("time", 10*time.Second, "how long each is measured")
	if err := fs.Parse(args); err != nil {
		return err
	}
	all, err := guarantee(ctx, *took)
	var not *exec.Error
	if errors.Is(err, cgroup.ErrUnsupported) || errors.As(err, &not) || os.Geteuid() != 0 {
		all, err = []figure.Figure{{Name: "iops.min", Skipped: fmt.Sprintf("it needs root, fio and version 1 of control groups (%v)", err)}}, nil
	}
	if err != nil {
		return err
	}
	_, err = figure.Table(stdout, fmt.Sprintf("a disk of %d IOPS, a volume with iops.min %d, a neighbour at full load", carries, guaranteed), "without", all)
	return err
}

// A lab is two volumes on a disk, with a load on each.
type lab struct {
	volumes *volume.Volumes
	undos   []func() error
	// names are the devices.
	names []string
}

func (l *lab) close() (err error) {
	for i := len(l.undos) - 1; i >= 0; i-- {
		err = errors.Join(err, l.undos[i]())
	}
	return err
}

// guarantee measures both volumes without a server and with one.
func guarantee(ctx context.Context, took time.Duration) (_ []figure.Figure, err error) {
	if _, err := exec.LookPath("fio"); err != nil {
		return nil, err
	}
	l := &lab{}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.make(ctx); err != nil {
		return nil, err
	}
	without, err := l.measure(ctx, took)
	if err != nil {
		return nil, err
	}
	s, err := l.volumes.Serve(ctx, func(string) {})
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.Run(serving) }()
	defer func() { stop(); <-done; err = errors.Join(err, s.Close()) }()
	if err := sleep(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	with, err := l.measure(ctx, took)
	if err != nil {
		return nil, err
	}
	rest := carries - with[0]
	return []figure.Figure{
		{Name: "the guaranteed volume", Ours: with[:1], Peer: without[:1], Unit: figure.Whole, Goal: figure.Goal{Op: figure.AtLeast, Value: 0.95 * guaranteed}},
		{Name: "the neighbour", Ours: with[1:], Peer: without[1:], Unit: figure.Whole, Goal: figure.Goal{Op: figure.AtLeast, Value: 0.8 * rest}, Note: fmt.Sprintf("80 %% of the %.0f that are left", rest)},
	}, nil
}

// make makes the disk, the volumes and their loads.
func (l *lab) make(ctx context.Context) error {
	in := ""
	if _, err := os.Stat("/dev/shm"); err == nil {
		in = "/dev/shm"
	}
	state, err := os.MkdirTemp(in, "plimsoll-bench-volume-")
	if err != nil {
		return err
	}
	l.undos = append(l.undos, func() error { return os.RemoveAll(state) })
	disk, err := loopdisk.Make(ctx, journal.In(state), state, "disk", 400<<20)
	if err != nil {
		return err
	}
	l.undos = append(l.undos, disk.Close)
	if err := l.slow(ctx, state, disk.Path()); err != nil {
		return err
	}
	l.volumes = volume.New(filepath.Join(disk.Path(), "volumes"))
	l.volumes.Records = filepath.Join(state, "machine")
	// The neighbour has several threads, the volume one with a small depth: so it starves.
	if err := l.load(ctx, "gold", 1, 2, map[string]string{"capacity": "80MiB", "iops.min": strconv.Itoa(guaranteed)}); err != nil {
		return err
	}
	return l.load(ctx, "loud", 4, 32, map[string]string{"capacity": "80MiB"})
}

// slow limits the disk below a folder.
func (l *lab) slow(ctx context.Context, state, folder string) error {
	stack, err := device.Host().Of(folder)
	if err != nil {
		return err
	}
	limits, err := hold.DevicesOf(device.Host(), filepath.Join(state, "below"))
	if err != nil {
		return err
	}
	spot := explain.Spot{Name: stack.Device.Name, Number: stack.Device.Number}
	n, err := limits.Hold(ctx, "bench volume", spot, limit.Limits{ReadIOPS: carries, WriteIOPS: carries})
	if err != nil {
		return err
	}
	l.undos = append(l.undos, func() error { return limits.Release(context.WithoutCancel(ctx), n) })
	return nil
}

// load makes and mounts a volume, and reads from it until the end.
func (l *lab) load(ctx context.Context, name string, jobs, depth int, options map[string]string) error {
	backend, p, err := l.volumes.Options(options)
	if err != nil {
		return err
	}
	if _, _, err := l.volumes.Create(ctx, name, backend, p); err != nil {
		return err
	}
	m, err := l.volumes.Mount(ctx, name, volume.ByHand)
	if err != nil {
		return err
	}
	l.undos = append(l.undos, func() error {
		return l.volumes.Unmount(context.WithoutCancel(ctx), name, volume.ByHand)
	})
	stack, err := device.Host().Of(m.Root)
	if err != nil {
		return err
	}
	l.names = append(l.names, stack.Device.Name)
	fio := exec.CommandContext(ctx, "fio", "--name="+name, "--filename="+filepath.Join(m.Root, "data"), "--size=48m", "--rw=randread", "--bs=4k", "--direct=1",
		"--ioengine=libaio", "--thread", "--numjobs="+strconv.Itoa(jobs), "--iodepth="+strconv.Itoa(depth), "--time_based", "--runtime=3600", "--norandommap", "--output=/dev/null")
	if err := fio.Start(); err != nil {
		return err
	}
	l.undos = append(l.undos, func() error {
		err := fio.Process.Kill()
		_ = fio.Wait() // It was killed.
		return err
	})
	return nil
}

// measure returns the I/Os per second of each volume.
func (l *lab) measure(ctx context.Context, took time.Duration) (rates []float64, err error) {
	if err := sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	count := func(name string) float64 {
		f := strings.Fields(device.Text(device.Host().Sys, "block", name, "stat"))
		if len(f) < 5 {
			return 0
		}
		reads, _ := strconv.ParseFloat(f[0], 64)  // The kernel prints numbers.
		writes, _ := strconv.ParseFloat(f[4], 64) // The same.
		return reads + writes
	}
	began, at := make([]float64, len(l.names)), time.Now()
	for i, n := range l.names {
		began[i] = count(n)
	}
	if err := sleep(ctx, took); err != nil {
		return nil, err
	}
	for i, n := range l.names {
		rates = append(rates, (count(n)-began[i])/time.Since(at).Seconds())
	}
	return rates, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
