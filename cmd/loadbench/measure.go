package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"plimsoll/load"
)

// A reading is what one program reached in one measurement.
type reading struct {
	iops float64
	// cpu is CPU time per I/O in nanoseconds.
	cpu float64
}

// measureOurs runs the job in a fresh process of this program.
func measureOurs(ctx context.Context, job load.Job) (reading, error) {
	self, err := os.Executable()
	if err != nil {
		return reading{}, err
	}
	in, err := json.Marshal(job)
	if err != nil {
		return reading{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-child")
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return reading{}, fmt.Errorf("load: %w", err)
	}
	var res load.Result
	if err := json.Unmarshal(out, &res); err != nil {
		return reading{}, fmt.Errorf("load's result: %w", err)
	}
	if res.Ops() == 0 {
		return reading{}, fmt.Errorf("load did no I/O with %s", job.IOEngine)
	}
	cpu := float64(res.Usage.User+res.Usage.System) / float64(res.Ops())
	return reading{iops: res.IOPS(), cpu: cpu}, nil
}

// fioOutput is the part of fio's JSON that is used.
type fioOutput struct {
	Jobs []struct {
		Read struct {
			IOPS     float64           `json:"iops"`
			TotalIOs float64           `json:"total_ios"`
			Runtime  float64           `json:"runtime"` // ms
			Clat     struct{ N int64 } `json:"clat_ns"`
		} `json:"read"`
		Usr float64 `json:"usr_cpu"`
		Sys float64 `json:"sys_cpu"`
	} `json:"jobs"`
}

// measureFio runs the same job with fio. The cache is not invalidated, or the
// file would not be in it.
func measureFio(ctx context.Context, fio string, job load.Job, extra ...string) (reading, error) {
	engine := job.IOEngine
	if engine == load.LinuxAIO {
		engine = "libaio"
	}
	args := []string{
		"--name=x", "--filename=" + job.Filename, "--rw=" + job.RW, "--bs=" + strconv.FormatInt(job.BS, 10),
		"--iodepth=" + strconv.Itoa(job.IODepth), "--ioengine=" + engine, "--direct=0", "--invalidate=0",
		"--size=" + strconv.FormatInt(job.Size, 10), "--time_based", "--output-format=json",
		"--runtime=" + strconv.Itoa(int(job.Runtime/time.Second)),
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, fio, append(args, extra...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return reading{}, fmt.Errorf("fio: %w: %s", err, stderr.String())
	}
	var f fioOutput
	if err := json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &f); err != nil {
		return reading{}, fmt.Errorf("fio's output: %w", err)
	}
	if len(f.Jobs) != 1 || f.Jobs[0].Read.TotalIOs == 0 {
		return reading{}, fmt.Errorf("fio did no I/O with %s", engine)
	}
	j := f.Jobs[0]
	busy := (j.Usr + j.Sys) / 100 * j.Read.Runtime * 1e6
	return reading{iops: j.Read.IOPS, cpu: busy / j.Read.TotalIOs}, nil
}
