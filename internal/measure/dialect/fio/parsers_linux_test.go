package fio

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fio's own tool makes a CSV of json+ whose last line has all I/Os in it.
func TestJSONPlusIsReadByFiosOwnTool(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("fio_jsonplus_clat2csv")
	if err != nil {
		t.Fatalf("%v: it comes with fio; run scripts/setup test", err)
	}
	dir := t.TempDir()
	run(t, dir, "--output-format=json+", "--output=r.json", "--lat_percentiles=1",
		"--name=a", "--rw=randrw", "--size=4m", "--rate_iops=3000", "--name=b", "--ioengine=null", "--rw=read", "--size=64m")
	// Both jobs' CSVs, and its own check of the buckets against the percentiles.
	for _, args := range [][]string{{"r.json", "r.csv"}, {"--validate", "r.json", "r.csv"}} {
		c := exec.Command(tool, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), "rror") {
			t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
		}
	}
	for name, column := range map[string]string{"r_job0.csv": "write_clat_ns_cumulative", "r_job1.csv": "read_lat_ns_cumulative"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		at := -1
		for i, h := range strings.Split(lines[0], ", ") {
			if h == column {
				at = i
			}
		}
		total := 0
		for _, l := range lines[1:] {
			if n, err := strconv.Atoi(strings.TrimSpace(strings.Split(l, ",")[max(at, 0)])); err == nil {
				total = n
			}
		}
		var r goResult
		readJSON(t, filepath.Join(dir, "r.json"), &r)
		want := r.Jobs[0].Write.TotalIos
		if name == "r_job1.csv" {
			want = r.Jobs[1].Read.TotalIos
		}
		if at < 0 || int64(total) != want || total == 0 {
			t.Errorf("%s: column %d of %s counts %d I/Os, the JSON has %d", name, at, column, total, want)
		}
	}
}

// goResult has the keys and types that Go tools around fio read (kubestr's, for one): a number
// with a point where an integer belongs fails the whole.
type goResult struct {
	Version string            `json:"fio version"`
	Time    int64             `json:"timestamp"`
	Global  map[string]string `json:"global options"`
	Jobs    []struct {
		Name    string            `json:"jobname"`
		Group   int               `json:"groupid"`
		Error   int               `json:"error"`
		Eta     int               `json:"eta"`
		Elapsed int               `json:"elapsed"`
		Options map[string]string `json:"job options"`
		Read    goStats           `json:"read"`
		Write   goStats           `json:"write"`
		Trim    goStats           `json:"trim"`
		Sync    goStats           `json:"sync"`
		Runtime int32             `json:"job_runtime"`
		User    float32           `json:"usr_cpu"`
		Ctx     int32             `json:"ctx"`
		Levels  map[string]float32
		Submit  map[string]float32 `json:"iodepth_submit"`
		Micro   map[string]float32 `json:"latency_us"`
		Depth   int32              `json:"latency_depth"`
		Target  int32              `json:"latency_target"`
		Percent float32            `json:"latency_percentile"`
		Window  int32              `json:"latency_window"`
	} `json:"jobs"`
	Disks []struct {
		Name    string  `json:"name"`
		Reads   int64   `json:"read_ios"`
		Ticks   int64   `json:"write_ticks"`
		InQueue int64   `json:"in_queue"`
		Util    float32 `json:"util"`
	} `json:"disk_util"`
}

type goStats struct {
	Bytes    int64   `json:"io_bytes"`
	BW       int64   `json:"bw"`
	Iops     float32 `json:"iops"`
	Runtime  int64   `json:"runtime"`
	TotalIos int64   `json:"total_ios"`
	Slat     goNS    `json:"slat_ns"`
	Clat     goNS    `json:"clat_ns"`
	Lat      goNS    `json:"lat_ns"`
	Response goNS    `json:"response_ns"`
	BWMin    int64   `json:"bw_min"`
	BWMax    int64   `json:"bw_max"`
	BWMean   float32 `json:"bw_mean"`
	BWN      int32   `json:"bw_samples"`
	IopsMin  int32   `json:"iops_min"`
	IopsMax  int32   `json:"iops_max"`
	IopsMean float32 `json:"iops_mean"`
	IopsN    int32   `json:"iops_samples"`
}

type goNS struct {
	Min, Max int64
	Mean     float32 `json:"mean"`
	StdDev   float32 `json:"stddev"`
	N        int64   `json:"N"`
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestJSONIsReadByAGoToolsStructs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "--output-format=json", "--output=r.json", "--randrepeat=0", "--gtod_reduce=1", "--ioengine=null", "--size=2g",
		"--name=iops", "--rw=randrw", "--rate_iops=2000", "--time_based", "--runtime=2100ms", "--bs=4k", "--iodepth=64", "--ramp_time=100ms")
	var r goResult
	readJSON(t, filepath.Join(dir, "r.json"), &r)
	if len(r.Jobs) != 1 {
		t.Fatalf("%d jobs, want 1: %+v", len(r.Jobs), r)
	}
	got := [...]any{r.Version, r.Global["randrepeat"], r.Jobs[0].Options["rw"], r.Jobs[0].Depth}
	if want := [...]any{version, "0", "randrw", int32(64)}; got != want {
		t.Fatalf("version, randrepeat, rw and depth are %v, want %v", got, want)
	}
	for name, s := range map[string]goStats{"read": r.Jobs[0].Read, "write": r.Jobs[0].Write} {
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 0.2*want {
				t.Errorf("%s %s = %v, want about %v", name, what, got, want)
			}
		}
		near("iops", float64(s.Iops), 2000)
		near("bw", float64(s.BW), 8000)
		near("mean of the samples", float64(s.IopsMean), 2000)
		if s.IopsN < 3 || s.IopsMin > s.IopsMax || s.BWN != s.IopsN {
			t.Errorf("%s: %d samples of IOPS from %v to %v, %d of bandwidth", name, s.IopsN, s.IopsMin, s.IopsMax, s.BWN)
		}
		if s.Lat.N != s.TotalIos || s.Lat.Mean <= 0 || s.Slat.N != 0 {
			t.Errorf("%s = %+v: gtod_reduce must not throw latencies away", name, s)
		}
		// From the schedule on nothing is shorter than from its start.
		if s.Response.N != s.TotalIos || s.Response.Mean < s.Lat.Mean || s.Response.Max < s.Lat.Max {
			t.Errorf("%s has response times %+v, service times %+v", name, s.Response, s.Lat)
		}
	}
}

// fio-plot draws a chart of several runs and one of logs. scripts/setup test installs it.
func TestOutputIsReadByFioPlot(t *testing.T) {
	t.Parallel()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	tool := filepath.Join(cache, "plimsoll", "fio-plot", "bin", "fio-plot")
	if _, err := os.Stat(tool); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: scripts/setup test should have installed it", err)
		}
		t.Skipf("%v: scripts/setup test installs fio-plot where Python's registry can be reached", err)
	}
	dir := t.TempDir()
	for _, d := range []string{"1", "2"} {
		run(t, dir, "--output-format=json", "--output=randread-"+d+"-1.json", "--name=randread-iodepth-"+d+"-numjobs-1", "--ioengine=libaio", "--rw=randread", "--bs=4k",
			"--size=1m", "--iodepth="+d, "--numjobs=1", "--filename=data", "--time_based", "--runtime=1", "--rate_iops=3000", "--log_avg_msec=100",
			"--write_bw_log=randread-iodepth-"+d+"-numjobs-1", "--write_lat_log=randread-iodepth-"+d+"-numjobs-1", "--write_iops_log=randread-iodepth-"+d+"-numjobs-1")
	}
	for name, args := range map[string][]string{
		"bars":      {"-l", "-d", "1", "2"},
		"histogram": {"-H", "-d", "1"},
		"lines":     {"-g", "-t", "bw", "iops", "lat", "-d", "1", "2"},
	} {
		c := exec.Command(tool, append([]string{"-i", ".", "-T", "test", "-r", "randread", "-n", "1", "-o", name + ".png"}, args...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
			continue
		}
		if st, err := os.Stat(filepath.Join(dir, name+".png")); err != nil || st.Size() < 10000 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
