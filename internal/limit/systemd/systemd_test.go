package systemd

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// A fake is systemctl with one unit: it keeps properties as systemd 252 does, from its sources
// (src/shared/bus-unit-util.c and src/systemctl/systemctl-show.c). The real one is used where systemd
// runs, in the guest.
type fake struct {
	t     *testing.T
	calls []string
	show  string
	err   error
}

func (f *fake) run(_ context.Context, argv ...string) ([]byte, error) {
	f.calls = append(f.calls, strings.Join(argv, " "))
	if argv[0] == "show" {
		return []byte(f.show), nil
	}
	return nil, f.err
}

func (f *fake) systemd() Systemd { return Systemd{Systemctl: f.run} }

// change plans and applies, and returns what set it.
func (f *fake) change(s Systemd, c Change) (string, error) {
	f.t.Helper()
	e, err := s.Plan(f.t.Context(), "web.service", c)
	if err != nil {
		return "", err
	}
	f.calls = nil
	err = s.Apply(f.t.Context(), e)
	return strings.Join(f.calls, "|"), err
}

func TestSet(t *testing.T) {
	f := &fake{t: t}
	l := Properties{
		Devices: []Device{{Path: "/dev/sdb", ReadBPS: 1, WriteBPS: 2, ReadIOPS: 3, WriteIOPS: 4, Weight: 500, Latency: 5 * time.Millisecond}, {Path: "/srv/data", WriteBPS: 9}},
		Weight:  200, CPUs: 1.5, CPUShares: 1500, Memory: 4 << 30, NoSwap: true,
	}
	want := "set-property --runtime -- web.service IOReadBandwidthMax=/dev/sdb 1 IOWriteBandwidthMax=/dev/sdb 2 IOReadIOPSMax=/dev/sdb 3 IOWriteIOPSMax=/dev/sdb 4 " +
		"IODeviceWeight=/dev/sdb 500 IODeviceLatencyTargetSec=/dev/sdb 5000us IOWriteBandwidthMax=/srv/data 9 IOWeight=200 CPUQuota=150% CPUWeight=146 MemoryMax=4294967296 MemorySwapMax=0"
	got, err := f.change(f.systemd(), Change{Set: l})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	s := f.systemd()
	for cpus, quota := range map[float64]string{0.01: "1%", 0.29: "29%", 0.57: "57%", 1.15: "115%", 1.0000001: "100%"} {
		if got, err := f.change(s, Change{Set: Properties{CPUs: cpus}}); err != nil || got != "set-property --runtime -- web.service CPUQuota="+quota {
			t.Errorf("%v CPUs: %q, %v", cpus, got, err)
		}
	}
	if got, err := f.change(s, Change{}); err != nil || got != "" {
		t.Errorf("of nothing: %q, %v", got, err)
	}
	f.calls = nil
	for want, bad := range map[string]Properties{
		"without spaces":     {Devices: []Device{{Path: "/srv/my data", ReadBPS: 1}}},
		"a whole path":       {Devices: []Device{{Path: "sdb", ReadBPS: 1}}},
		"takes 1 to 10000":   {Weight: 10001},
		"of /dev/sdb":        {Devices: []Device{{Path: "/dev/sdb", Weight: 10001}}},
		"cpus NaN":           {CPUs: math.NaN()},
		"cpus -1":            {CPUs: -1},
		"cpus 0.001":         {CPUs: 0.001},
		"cpus +Inf":          {CPUs: math.Inf(1)},
		"whole microseconds": {Devices: []Device{{Path: "/dev/sdb", Latency: 5}}},
	} {
		// Nothing of it is set, the good part neither.
		bad.Memory = 1 << 30
		if _, err := s.Plan(t.Context(), "web.service", Change{Set: bad}); err == nil || !strings.Contains(err.Error(), want) || len(f.calls) > 0 {
			t.Errorf("Plan(%+v) = %v after %q, want %q", bad, err, f.calls, want)
		}
	}
	f.err = errors.New("systemctl: Failed to set unit properties: Access denied")
	if _, err := f.change(s, Change{Set: Properties{Memory: 1 << 30}}); err == nil || !strings.Contains(err.Error(), "run as root") {
		t.Errorf("Apply = %v", err)
	}
}

// shown is what systemctl show prints: numbers plain, times in words, an empty list without a value.
const shown = `IOWeight=200
CPUQuotaPerSecUSec=1.500s
CPUWeight=146
MemoryMax=4294967296
MemorySwapMax=0
IOReadBandwidthMax=/dev/sdb 1
IOReadBandwidthMax=/dev/sdc 7
IOWriteBandwidthMax=/dev/sdb 2
IOReadIOPSMax=
IOWriteIOPSMax=/dev/sdb 4
IODeviceWeight=/dev/sdb 500
IODeviceLatencyTargetUSec=/dev/sdb 1min 5.500ms
`

const none = "IOWeight=[not set]\nCPUQuotaPerSecUSec=infinity\nCPUWeight=18446744073709551615\nMemoryMax=infinity\nIOReadBandwidthMax=\n"

func TestGetAndClear(t *testing.T) {
	f := &fake{t: t, show: shown}
	got, err := f.systemd().Get(t.Context(), "web.service")
	want := Properties{
		Devices: []Device{{Path: "/dev/sdb", ReadBPS: 1, WriteBPS: 2, WriteIOPS: 4, Weight: 500, Latency: time.Minute + 5500*time.Microsecond}, {Path: "/dev/sdc", ReadBPS: 7}},
		Weight:  200, CPUs: 1.5, CPUShares: 1495, Memory: 4 << 30, NoSwap: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v: %s", err, diff)
	}
	if len(f.calls) != 1 || !strings.HasPrefix(f.calls[0], "show --property=IOWeight,CPUQuotaPerSecUSec,") || !strings.Contains(f.calls[0], ",IODeviceLatencyTargetUSec -- web.service") {
		t.Errorf("calls %q", f.calls)
	}
	for _, x := range []struct {
		show string
		c    Change
		want string
	}{
		{shown, Change{Remove: limit.Keys}, "IOReadBandwidthMax= IOWriteBandwidthMax= IOWriteIOPSMax= IODeviceWeight= IODeviceLatencyTargetSec= IOWeight= CPUQuota= CPUWeight= MemoryMax=infinity MemorySwapMax=infinity"},
		{shown, Change{Remove: limit.Keys[:4], Paths: []string{"/dev/sdc"}}, "IOReadBandwidthMax=/dev/sdc infinity"},
		{shown, Change{Remove: []limit.Key{limit.WriteBPS, limit.Weight, limit.Latency}, Paths: []string{"/dev/sdb"}}, "IOWriteBandwidthMax=/dev/sdb infinity IODeviceWeight=/dev/sdb 100 IODeviceLatencyTargetSec=/dev/sdb infinity IOWeight="},
		{shown, Change{Remove: []limit.Key{limit.CPUs}}, "CPUQuota="},
		{shown, Change{Remove: limit.Keys[:4], Paths: []string{"/dev/sdd"}}, ""},
		{none, Change{Remove: limit.Keys}, ""},
		// As wanted already, by another path of the device.
		{shown, Change{Set: Properties{Devices: []Device{{Path: "/srv", ReadBPS: 1, WriteBPS: 3}}, CPUs: 1.5}}, "IOWriteBandwidthMax=/dev/sdb 3"},
	} {
		f := &fake{t: t, show: x.show}
		s := f.systemd()
		s.Device = func(path string) device.Number {
			return map[string]device.Number{"/dev/sdb": {Major: 8, Minor: 16}, "/srv": {Major: 8, Minor: 16}, "/dev/sdc": {Major: 8, Minor: 32}}[path]
		}
		got, err := f.change(s, x.c)
		if got = strings.TrimPrefix(got, "set-property --runtime -- web.service "); err != nil || got != x.want {
			t.Errorf("Plan(%+v) sets %q, %v, want %q", x.c, got, err, x.want)
		}
	}
	f = &fake{t: t, show: shown}
	e, err := f.systemd().Plan(t.Context(), "web.service", Change{Set: Properties{Devices: []Device{{Path: "/dev/sdd", ReadIOPS: 5}}, CPUs: 2}, Remove: []limit.Key{limit.ReadBPS}})
	if err != nil {
		t.Fatal(err)
	}
	f.calls = nil
	if err := f.systemd().Undo(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	undo := "set-property --runtime -- web.service IOReadBandwidthMax=/dev/sdb 1 IOReadBandwidthMax=/dev/sdc 7 IOReadIOPSMax=/dev/sdd infinity CPUQuota=150%"
	if got := strings.Join(f.calls, "|"); got != undo {
		t.Errorf("Undo called %q, want %q", got, undo)
	}
	if got, err := parse(none); err != nil || !cmp.Equal(got, Properties{}) {
		t.Errorf("parse(none) = %+v, %v", got, err)
	}
	for _, bad := range []string{"IOWeight=heavy\n", "CPUQuotaPerSecUSec=1 fortnight\n", "MemoryMax=-1\n", "IOReadBandwidthMax=/dev/sdb much\n", "IODeviceLatencyTargetUSec=/dev/sdb 5 years\n"} {
		if l, err := parse(bad); err == nil {
			t.Errorf("parse(%q) = %+v", bad, l)
		}
	}
}

// TestWithoutSystemd: where systemd does not run, the words of the real systemctl lead to the fix.
func TestWithoutSystemd(t *testing.T) {
	if _, err := exec.LookPath("systemctl"); err != nil {
		t.Skip("needs systemctl: apt-get install systemd")
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("systemd runs here")
	}
	s := Systemd{Systemctl: target.Exec("systemctl")}
	if _, err := s.Plan(t.Context(), "plimsoll-no-such.service", Change{Set: Properties{Memory: 1 << 30}}); err == nil || !strings.Contains(err.Error(), "systemd does not run this machine's services") {
		t.Errorf("Plan = %v", err)
	}
}

// TestForBFQ: what systemd makes of it is what was wanted (BFQ_WEIGHT of systemd 252).
func TestForBFQ(t *testing.T) {
	for _, w := range []uint64{1, 50, 100, 101, 200, 500, 999, 1000} {
		x := ForBFQ(w)
		bfq := x
		if x > 100 {
			bfq = 100 + (x-100)*900/9900
		}
		if bfq != w {
			t.Errorf("ForBFQ(%d) = %d, which becomes %d", w, x, bfq)
		}
	}
}

func TestOf(t *testing.T) {
	v2 := func(p string) target.Group { return target.Group{Version: 2, Path: p} }
	v1 := func(c, p string) target.Group { return target.Group{Version: 1, Controllers: []string{c}, Path: p} }
	for _, x := range []struct {
		groups []target.Group
		want   string
	}{
		{nil, ""},
		{[]target.Group{v2("/system.slice/docker-abc.scope")}, "docker-abc.scope"},
		{[]target.Group{v2("/docker/abc")}, ""},
		{[]target.Group{v1("blkio", "/docker/abc.scope"), v1("name=systemd", "/docker/abc")}, ""},
		{[]target.Group{v1("blkio", "/x"), v1("name=systemd", "/system.slice/web.service")}, "web.service"},
		{[]target.Group{v2("/user.slice")}, ""},
	} {
		if got := Of(x.groups); got != x.want {
			t.Errorf("Of(%+v) = %q, want %q", x.groups, got, x.want)
		}
	}
}
