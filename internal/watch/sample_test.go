package watch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/treetest"
)

// A machine is made of files that a test writes.
type machine struct {
	t       *testing.T
	root    string
	host    *cgroup.Host
	sampler *Sampler
}

// newMachine has a group /web in one version, with the process 42.
func newMachine(t *testing.T, version int, files map[string]string) *machine {
	t.Helper()
	all := map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n3 1 0:31 / ROOT/cg2 rw - cgroup2 cgroup2 rw\n",
		"proc/uptime":         "10.00 20.00\n", "proc/diskstats": "254 0 vda 1 0 8 1 2 0 16 2 0 3 3\n254 1 vda1 1 0 8 1 2 0 16 2 0 3 3\n",
		"sys/block/vda/size": "8\n", "cg2/cgroup.controllers": "",
		"cg/web/cgroup.procs": "42\n0\n43\n",
		"proc/42/io":          "rchar: 1\nwchar: 100\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n",
		"proc/42/stat":        "42 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n",
		"cg2/web/io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
	}
	if version == 2 {
		all["proc/self/mountinfo"] = "1 0 8:1 / / rw - ext4 /dev/a rw\n3 1 0:31 / ROOT/cg rw - cgroup2 cgroup2 rw\n"
		all["cg/cgroup.controllers"] = "io cpu\n"
		all["cg/web/io.pressure"] = all["cg2/web/io.pressure"]
	}
	for k, v := range files {
		all[k] = v
	}
	root := treetest.Make(t, all)
	fs := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	host, err := cgroup.Open(fs)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSampler(fs, host)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t, root, host, s}
}

// put writes a file.
func (m *machine) put(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// web is the group /web.
func (m *machine) web() *Subject {
	m.t.Helper()
	groups, err := m.host.At("/web")
	if err != nil {
		m.t.Fatal(err)
	}
	return &Subject{Ref: "cgroup:/web", Target: target.Target{Kind: target.Cgroup, Name: "/web"}, Groups: groups}
}

// reading samples /web.
func (m *machine) reading(s *Subject) (*Reading, *Sample) {
	m.t.Helper()
	sample, err := m.sampler.Sample([]*Subject{s}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return sample.Subjects[s.Ref], sample
}

// TestSampleV1: the groups below count by themselves, and the root group belongs to no target.
func TestSampleV1(t *testing.T) {
	m := newMachine(t, 1, map[string]string{
		"cg/blkio.throttle.io_service_bytes_recursive": "254:0 Read 9\n254:0 Total 9\nTotal 9\n", "cg/blkio.throttle.io_serviced_recursive": "254:0 Read 7\nTotal 7\n",
		"cg/blkio.throttle.io_service_bytes": "254:0 Read 4\n254:0 Write 5\nTotal 9\n", "cg/blkio.throttle.io_serviced": "254:0 Write 1\nTotal 1\n",
		"cg/web/blkio.throttle.io_service_bytes":   "254:0 Read 1\n254:0 Write 20\n254:0 Sync 21\n254:0 Async 0\n254:0 Discard 3\n254:0 Total 24\nTotal 24\n",
		"cg/web/blkio.throttle.io_serviced":        "254:0 Read 1\n254:0 Write 2\n254:0 Discard 3\n254:0 Total 6\nTotal 6\n",
		"cg/web/blkio.throttle.write_bps_device":   "254:0 1048576\n",
		"cg/web/b/blkio.throttle.io_service_bytes": "254:0 Write 300\nTotal 300\n", "cg/web/b/blkio.throttle.io_serviced": "Total 0\n", "cg/web/b/cgroup.procs": "",
	})
	sub := m.web()
	r, sample := m.reading(sub)
	if r.Err != nil || r.AppErr != nil {
		t.Fatal(r.Err, r.AppErr)
	}
	own := r.Groups["/web"][vda]
	if want := (cgroupio.Counters{ReadBytes: 1, WriteBytes: 20, DiscardBytes: 3, Reads: 1, Writes: 2, Discards: 3}); own != want {
		t.Errorf("/web: %+v, want %+v", own, want)
	}
	if c := r.Groups["/web/b"][vda]; c.WriteBytes != 300 || len(r.Groups) != 2 {
		t.Errorf("/web/b: %+v", r.Groups)
	}
	if n := sample.RootGroup; n == nil || n.Err != nil || n.Groups["/"][vda].WriteBytes != 5 {
		t.Errorf("the root group: %+v", n)
	}
	if sample.CountsAll || !slices.Equal(sample.Counted, []device.Number{vda}) {
		t.Errorf("counted: %v, all: %v; want vda alone", sample.Counted, sample.CountsAll)
	}
	if sample.Ticks != 1000 {
		t.Errorf("%d ticks, want 1000", sample.Ticks)
	}
	if all := sample.All[vda]; all.ReadBytes != 9 || all.Reads != 7 {
		t.Errorf("everybody: %+v", sample.All)
	}
	if len(sample.Disks) != 1 || sample.Disks[0].Name != "vda" {
		t.Errorf("disks: %+v", sample.Disks)
	}
	io := IO{CallBytesRead: 1, CallBytesWritten: 100, Reads: 3, Writes: 4, BytesRead: 5, BytesWritten: 6, Cancelled: 7}
	if d := cmp.Diff(map[int]Process{42: {Start: 500, Parent: 1, IO: io}}, r.Processes); d != "" {
		t.Errorf("processes: %s", d)
	}
	// The group of version 2 has no controller, and pressure.
	if r.Pressure == nil || r.Pressure.Some.Seconds() != 2 || r.Pressure.Full.Seconds() != 1 {
		t.Errorf("pressure: %+v", r.Pressure)
	}
	if l := r.Limits[0].Devices[device.Number{Major: 254}]; l != (limit.Limits{WriteBPS: 1 << 20}) {
		t.Errorf("limits: %+v", r.Limits)
	}
	// Another process has the number: its birth is read anew.
	m.put("proc/42/io", "rchar: 0\nwchar: 1\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n")
	m.put("proc/42/stat", "42 (b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 900 0 0\n")
	if r, _ := m.reading(sub); r.Processes[42].Start != 900 {
		t.Errorf("another process: %+v", r.Processes)
	}
	// A counter that is none is an error of this subject, not of the sample.
	m.put("cg/web/blkio.throttle.io_serviced", "254:0 Read many\n")
	if r, _ := m.reading(sub); r.Err == nil || !strings.Contains(r.Err.Error(), "many") {
		t.Errorf("a bad counter: %v", r.Err)
	}
	if err := os.RemoveAll(filepath.Join(m.root, "cg/web")); err != nil {
		t.Fatal(err)
	}
	if r, _ := m.reading(sub); !errors.Is(r.Err, cgroup.ErrGone) {
		t.Errorf("a group that is gone: %v", r.Err)
	}
}

// TestSampleV2: a group has one file, which holds those below it.
func TestSampleV2(t *testing.T) {
	m := newMachine(t, 2, map[string]string{
		"cg/web/io.stat": "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.wait=7\n", "cg/web/io.max": "254:0 rbps=max wbps=1048576 riops=max wiops=max\n",
		"cg/web/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_usec 1500\n", "cg/web/cpu.max": "150000 100000\n", "cg/web/cpu.weight": "100\n", "cg/web/b/cgroup.procs": "42\n", "cg/web/cgroup.procs": "",
	})
	r, sample := m.reading(m.web())
	if r.Err != nil || r.AppErr != nil {
		t.Fatal(r.Err, r.AppErr)
	}
	counters := cgroupio.Counters{ReadBytes: 1, WriteBytes: 2, DiscardBytes: 5, Reads: 3, Writes: 4, Discards: 6, Waited: 7 * time.Microsecond, Timed: true}
	if d := cmp.Diff(map[string]map[device.Number]cgroupio.Counters{"/web": {vda: counters}}, r.Groups); d != "" {
		t.Errorf("counters: %s", d)
	}
	if !sample.CountsAll || sample.RootGroup != nil {
		t.Errorf("version 2 counts everywhere: %+v", sample)
	}
	if len(r.Processes) != 1 {
		t.Errorf("processes %v, want one", r.Processes)
	}
	if d := cmp.Diff(&cgroupio.Throttled{Periods: 2, Time: 1500 * time.Microsecond}, r.CPU); d != "" {
		t.Errorf("CPU: %s", d)
	}
	if r.Pressure == nil {
		t.Error("no pressure")
	}
	if len(r.Limits) != 1 || r.Limits[0].Limits.CPUs != 1.5 || r.Limits[0].Devices[device.Number{Major: 254}].WriteBPS != 1<<20 {
		t.Errorf("limits: %+v", r.Limits)
	}
}

// TestParse: what the kernel's files may hold.
func TestParse(t *testing.T) {
	for _, bad := range []string{"", "16\n", "16.3 2\n", "x.33 2\n", "-1.00 2\n"} {
		if n, err := parseUptime(bad); err == nil {
			t.Errorf("parseUptime(%q) = %d, want an error", bad, n)
		}
	}
	if n, err := parseUptime("16.33 20.11\n"); n != 1633 || err != nil {
		t.Errorf("parseUptime() = %d, %v", n, err)
	}
	for _, bad := range []string{"", "some avg10=0 total=x\n", "full avg10=0 total=4\n", "no pressure\n"} {
		if p := parsePressure(bad); p != nil {
			t.Errorf("parsePressure(%q) = %+v, want none", bad, p)
		}
	}
}
