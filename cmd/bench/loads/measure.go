package loads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"plimsoll/load"
)

// A reading is the result of one program in one measurement.
type reading struct {
	iops float64
	// cpu is CPU time per I/O in nanoseconds.
	cpu float64
}

// MarshalJSON and UnmarshalJSON transfer a reading from a child.
func (r reading) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{r.iops, r.cpu}) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *reading) UnmarshalJSON(p []byte) error {
	var v [2]float64
	err := json.Unmarshal(p, &v)
	r.iops, r.cpu = v[0], v[1]
	return err
}

// subcommand is the argument that makes this program a child.
const subcommand = "load"

// inChild runs the job in a new process of this program and returns its output.
func inChild(ctx context.Context, mode string, job load.Job) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, subcommand, mode)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

// measureBare runs the job on a ring without accounting.
func measureBare(ctx context.Context, job load.Job) (r reading, err error) {
	out, err := inChild(ctx, "-bare", job)
	if err != nil {
		return r, fmt.Errorf("bare ring: %w", err)
	}
	return r, json.Unmarshal(out, &r)
}

// measureOurs runs the job with package load.
func measureOurs(ctx context.Context, job load.Job) (reading, error) {
	out, err := inChild(ctx, "-child", job)
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

// fioFile returns the job's file, or any name for an engine without files.
func fioFile(job load.Job) string {
	if job.Filename == "" {
		return "none"
	}
	return job.Filename
}

// measureFio runs the same job with fio. It does not invalidate the cache, because the file must stay in it.
func measureFio(ctx context.Context, fio string, job load.Job, extra ...string) (reading, error) {
	engine := job.IOEngine
	if engine == load.LinuxAIO {
		engine = "libaio"
	}
	args := []string{
		"--name=x", "--filename=" + fioFile(job), "--rw=" + job.RW, "--bs=" + strconv.FormatInt(job.BS, 10),
		"--iodepth=" + strconv.Itoa(job.IODepth), "--ioengine=" + engine, "--invalidate=0",
		"--size=" + strconv.FormatInt(job.Size, 10), "--time_based", "--output-format=json",
		"--runtime=" + strconv.FormatInt(job.Runtime.Milliseconds(), 10) + "ms",
	}
	if job.Direct {
		args = append(args, "--direct=1")
	}
	if job.RateIOPS > 0 {
		args = append(args, "--rate_iops="+strconv.FormatInt(job.RateIOPS, 10), "--rate_process="+job.RateProcess)
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
