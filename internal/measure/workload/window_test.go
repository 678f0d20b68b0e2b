package workload

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
)

// diskstats is from a machine with Linux 6.1; the last lines are made up.
const diskstats = `   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 15230 4221 1048578 8123 20511 11876 3145728 40961 0 21044 49200 0 0 0 0 812 115
 254       1 vda1 1 0 8 0 2 0 16 0 -1 4 0
   8       0 sda 1 0 8 0 2 0 16
   8      16 sdb 1 0 x 0 2 0 16 0 0 4 0
   8      32 sdc 1 0 99999999999999999999 0 2 0 16 0 0 4 0
   8      48 sdd -1 0 8 0 2 0 16 0 0 4 0
`

func TestParseDiskstats(t *testing.T) {
	want := map[string]DiskDelta{
		"loop0": {Number: device.Number{Major: 7}, Name: "loop0"},
		"vda": {Number: device.Number{Major: 254}, Name: "vda", Reads: 15230, ReadBytes: 512<<20 + 1024, Writes: 20511, WrittenBytes: 1536 << 20, Busy: 21044 * time.Millisecond,
			ReadMerges: 4221, ReadTime: 8123 * time.Millisecond, WriteMerges: 11876, WriteTime: 40961 * time.Millisecond, Flushes: 812, FlushTime: 115 * time.Millisecond},
		"vda1": {Number: device.Number{Major: 254, Minor: 1}, Name: "vda1", Reads: 1, ReadBytes: 4096, Writes: 2, WrittenBytes: 8192, Busy: 4 * time.Millisecond},
	}
	got := parseDiskstats(strings.NewReader(diskstats))
	if diff := cmp.Diff(want, got.disks); diff != "" || !got.flushes {
		t.Errorf("flushes counted: %v; %s", got.flushes, diff)
	}
	if old := parseDiskstats(strings.NewReader("254 1 vda1 1 0 8 0 2 0 16 0 -1 4 0 0 0 0 0\n")); old.flushes || len(old.disks) != 1 {
		t.Errorf("before Linux 5.5: %+v, want no flushes", old)
	}
}

func TestParseCgroupIO(t *testing.T) {
	d := func(ma, mi uint32, r, w int64) CgroupDelta {
		return CgroupDelta{device.Number{Major: ma, Minor: mi}, r, w}
	}
	for name, row := range map[string]struct {
		in   string
		want []CgroupDelta
	}{
		"empty":           {"", nil},
		"total only":      {"Total 0\n", nil},
		"no number":       {"254:x Read 1\n254:0:0 Read 1\n:: Read 1\n", nil},
		"device alone":    {"254:0\n254:16 \n", nil},
		"bad figures":     {"254:0 rbytes=x wbytes=-1 rios\n", []CgroupDelta{d(254, 0, 0, 0)}},
		"v1":              {"254:0 Read 4096\n254:0 Write 8192\n254:0 Sync 1\n254:0 Async 2\n254:0 Discard 0\n254:0 Total 12288\nTotal 12288\n", []CgroupDelta{d(254, 0, 4096, 8192)}},
		"v2":              {"254:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n254:0 rbytes=7 wbytes=8 rios=1 wios=1 dbytes=0 dios=0\n", []CgroupDelta{d(254, 0, 7, 8), d(254, 16, 1, 2)}},
		"v2, two figures": {"254:0 rbytes=7 wbytes=8\n", []CgroupDelta{d(254, 0, 7, 8)}},
		"v2, joined line": {"7:1 7:0 254:0 rbytes=7 wbytes=8 rios=1 wios=1\n", []CgroupDelta{d(254, 0, 7, 8)}},
	} {
		got := cgroupDeltas(nil, parseCgroupIO(strings.NewReader(row.in)))
		if len(got) == 0 {
			got = nil
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestParsePressure(t *testing.T) {
	for _, row := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"", 0, false},
		{"full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n", 0, false},
		{"some avg10=0.00\n", 0, false},
		{"some total=x\n", 0, false},
		{"some avg10=1.53 avg60=0.87 avg300=0.24 total=81234567\nfull avg10=1.20 avg60=0.70 avg300=0.20 total=71234567\n", 81234567 * time.Microsecond, true},
	} {
		if got := parsePressure([]byte(row.in)); got.known != row.ok || row.ok && got.total != row.want {
			t.Errorf("parsePressure(%q) = %v, want %v, %v", row.in, got, row.want, row.ok)
		}
	}
}

func TestParseCPU(t *testing.T) {
	for _, row := range []struct {
		in   string
		want cpuTimes
	}{
		{"", cpuTimes{}},
		{"cpu0 1 2 3 4 5 6 7 8 9 10\n", cpuTimes{}},
		{"cpu 1 2 3\n", cpuTimes{}},
		{"cpu  100 1 50 1000 20 3 4 5 60 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n", cpuTimes{total: 1183, idle: 1020, steal: 5}},
	} {
		if got := parseCPU([]byte(row.in)); got != row.want {
			t.Errorf("parseCPU(%q) = %+v, want %+v", row.in, got, row.want)
		}
	}
}

func TestParseKeys(t *testing.T) {
	got := parseKeys([]byte("rchar: 10\nread_bytes: 4096\nbad: x\nnr_throttled 3\na b c\n\n: 1\n"))
	want := map[string]int64{"rchar": 10, "read_bytes": 4096, "nr_throttled": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeltas(t *testing.T) {
	a := map[string]DiskDelta{"same": {Name: "same", Reads: 5}, "back": {Name: "back", Reads: 9, ReadBytes: 900, Busy: 9}, "gone": {Name: "gone", Reads: 1}}
	b := map[string]DiskDelta{"same": {Name: "same", Reads: 5}, "flushed": {Name: "flushed", Flushes: 2}, "back": {Name: "back", Reads: 2, ReadBytes: 200, Busy: 3}, "new": {Name: "new", Writes: 1, WrittenBytes: 512}}
	want := []DiskDelta{{Name: "back", Reads: 2, ReadBytes: 200, Busy: 3}, {Name: "flushed", Flushes: 2}, {Name: "new", Writes: 1, WrittenBytes: 512}}
	got, flushes := DiskCounts{a, true}.Until(DiskCounts{b, true})
	if diff := cmp.Diff(want, got); diff != "" || !flushes {
		t.Errorf("flushes counted: %v; %s", flushes, diff)
	}
	if _, flushes := (DiskCounts{a, false}).Until(DiskCounts{b, true}); flushes {
		t.Error("flushes are counted that were not at the beginning")
	}
	if got := cgroupDeltas(nil, nil); got != nil {
		t.Errorf("cgroupDeltas of what can't be read = %v, want nil", got)
	}
	if got := cgroupDeltas(nil, map[device.Number]CgroupDelta{}); got == nil {
		t.Error("cgroupDeltas of an empty group = nil, want an empty list")
	}
}

func TestHostDelta(t *testing.T) {
	now := time.Now()
	a := snapshot{at: now, cpu: cpuTimes{total: 100, idle: 50, steal: 1}, io: pressure{time.Second, true}, memory: pressure{time.Second, true}}
	for name, row := range map[string]struct {
		b    snapshot
		want HostDelta
	}{
		"no time":        {snapshot{at: now, cpu: a.cpu, io: pressure{time.Second, true}}, HostDelta{IOSome: -1, MemorySome: -1}},
		"no PSI":         {snapshot{at: now.Add(time.Second), cpu: a.cpu}, HostDelta{IOSome: -1, MemorySome: -1}},
		"iowait back":    {snapshot{at: now, cpu: cpuTimes{total: 110, idle: 49, steal: 1}}, HostDelta{CPUBusy: 1, IOSome: -1, MemorySome: -1}},
		"more than time": {snapshot{at: now.Add(time.Second), cpu: a.cpu, io: pressure{3 * time.Second, true}}, HostDelta{IOSome: 1, MemorySome: -1}},
		"usual":          {snapshot{at: now.Add(time.Second), cpu: cpuTimes{total: 200, idle: 125, steal: 11}, io: pressure{1500 * time.Millisecond, true}, memory: pressure{1250 * time.Millisecond, true}, allowed: 3}, HostDelta{CPUBusy: 0.25, Steal: 0.1, IOSome: 0.5, MemorySome: 0.25, Allowed: 3}},
	} {
		if got := hostDelta(a, row.b); got != row.want {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
	}
}

// FuzzWindow: no counter file makes a negative figure.
func FuzzWindow(f *testing.F) {
	for _, s := range []string{diskstats, "254:0 Read 1\n", "7:1 254:0 rbytes=1 wbytes=2\n", "cpu 1 2 3 4 5 6 7 8 9\n", "some total=5\n", "a: 1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, d := range parseDiskstats(bytes.NewReader(b)).disks {
			if name != d.Name || d.Reads < 0 || d.Writes < 0 || d.ReadBytes < 0 || d.WrittenBytes < 0 || d.Busy < 0 {
				t.Errorf("parseDiskstats(%q)[%q] = %+v", b, name, d)
			}
		}
		for key, d := range parseCgroupIO(bytes.NewReader(b)) {
			if key != d.Number || d.ReadBytes < 0 || d.WrittenBytes < 0 {
				t.Errorf("parseCgroupIO(%q)[%v] = %+v", b, key, d)
			}
		}
		parseKeys(b)
		parseCPU(b)
		parsePressure(b)
	})
}
