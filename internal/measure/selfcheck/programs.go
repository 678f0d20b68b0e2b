package selfcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"plimsoll/load"
)

// Child reads a job from in, does it with package load and writes its reading to out. Ours starts it in a process of
// its own.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	var job load.Job
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	run, err := load.Prepare(job)
	if err != nil {
		return err
	}
	defer run.Close()
	res, err := run.Start(ctx, nil)
	if err != nil {
		return err
	}
	if res.Ops() == 0 {
		return errors.New("no I/O was complete in the window")
	}
	all := load.Class{}
	for _, c := range res.Classes {
		if c.Name != "sync" {
			all.Merge(c)
		}
	}
	// CPU time of the threads, as fio reports it; their ramp is included.
	cpu := float64(res.Threads.User+res.Threads.System) * float64(res.Elapsed) / float64(res.Elapsed+job.RampTime)
	return json.NewEncoder(out).Encode(Reading{
		IOPS: res.IOPS(), Mean: all.Lat.Mean(), P99: float64(all.Lat.Percentile(99)), CPU: cpu / float64(res.Ops()),
	})
}

// A Wrap puts a command line into a limited group; nil: none.
type Wrap func(c Case, argv []string) []string

func (w Wrap) command(ctx context.Context, c Case, argv []string) *exec.Cmd {
	if w != nil {
		argv = w(c, argv)
	}
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}

// Ours returns package load as a Program: self is a command line that calls Child.
func Ours(self []string, wrap Wrap) Program {
	return func(ctx context.Context, c Case) (r Reading, err error) {
		in, err := json.Marshal(c.Job)
		if err != nil {
			return r, err
		}
		cmd := wrap.command(ctx, c, self)
		cmd.Stdin = bytes.NewReader(in)
		out, err := output(cmd)
		if err != nil {
			return r, err
		}
		return r, json.Unmarshal(out, &r)
	}
}

// output runs a command, which ends with this process at the latest; its error includes the command's messages.
func output(cmd *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tie(cmd)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return out, nil
}

// fioJSON is the part of fio's JSON that is read.
type fioJSON struct {
	Jobs []struct {
		Read, Write fioDirection
		Usr         float64 `json:"usr_cpu"`
		Sys         float64 `json:"sys_cpu"`
		Runtime     float64 `json:"job_runtime"` // ms
	} `json:"jobs"`
}

type fioDirection struct {
	IOPS  float64 `json:"iops"`
	Total float64 `json:"total_ios"`
	Lat   struct {
		Mean       float64            `json:"mean"`
		Percentile map[string]float64 `json:"percentile"`
	} `json:"lat_ns"`
}

// Fio returns the fio at path as a Program. It measures from submission to completion
// (lat), as package load does.
func Fio(path string, wrap Wrap) Program {
	return func(ctx context.Context, c Case) (Reading, error) {
		out, err := output(wrap.command(ctx, c, append([]string{path}, fioArgs(c.Job)...)))
		if err != nil {
			return Reading{}, err
		}
		// Warnings may stand before the JSON (axboe/fio#672).
		var f fioJSON
		if err := json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &f); err != nil {
			return Reading{}, fmt.Errorf("output of fio: %w", err)
		}
		if len(f.Jobs) != 1 {
			return Reading{}, fmt.Errorf("output of fio: %d jobs", len(f.Jobs))
		}
		j := f.Jobs[0]
		d := j.Read
		if d.Total == 0 {
			d = j.Write
		}
		if d.Total == 0 {
			return Reading{}, errors.New("fio did no I/O")
		}
		return Reading{IOPS: d.IOPS, Mean: d.Lat.Mean, P99: d.Lat.Percentile["99.000000"], CPU: (j.Usr + j.Sys) / 100 * j.Runtime * 1e6 / d.Total}, nil
	}
}

// fioArgs converts the job to fio's options.
func fioArgs(j load.Job) []string {
	engine := j.IOEngine
	if engine == load.LinuxAIO {
		engine = "libaio"
	}
	flag := func(b bool) string { return map[bool]string{false: "0", true: "1"}[b] }
	args := []string{
		"--name=selfcheck", "--filename=" + j.Filename, "--rw=" + j.RW, "--bs=" + strconv.FormatInt(j.BS, 10), "--iodepth=" + strconv.Itoa(j.IODepth),
		"--ioengine=" + engine, "--direct=" + flag(j.Direct), "--size=" + strconv.FormatInt(j.Size, 10), "--norandommap", "--randrepeat=0",
		"--time_based", fmt.Sprintf("--runtime=%dms", j.Runtime/time.Millisecond), fmt.Sprintf("--ramp_time=%dms", j.RampTime/time.Millisecond),
		"--lat_percentiles=1", "--output-format=json", "--thread", "--invalidate=" + flag(j.Direct),
	}
	return args
}
