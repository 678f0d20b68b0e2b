package unit

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit/target"
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

func TestSet(t *testing.T) {
	f := &fake{t: t}
	l := Limits{
		Devices: []Device{{Path: "/dev/sdb", ReadBPS: 1, WriteBPS: 2, ReadIOPS: 3, WriteIOPS: 4, Weight: 500, Latency: 5 * time.Millisecond}, {Path: "/srv/data", WriteBPS: 9}},
		Weight:  200, CPUs: 1.5, CPUShares: 1500, Memory: 4 << 30,
	}
	if err := f.systemd().Set(t.Context(), "web.service", l); err != nil {
		t.Fatal(err)
	}
	want := []string{"set-property --runtime -- web.service IOReadBandwidthMax=/dev/sdb 1 IOWriteBandwidthMax=/dev/sdb 2 IOReadIOPSMax=/dev/sdb 3 IOWriteIOPSMax=/dev/sdb 4 " +
		"IODeviceWeight=/dev/sdb 500 IODeviceLatencyTargetSec=/dev/sdb 5000us IOWriteBandwidthMax=/srv/data 9 IOWeight=200 CPUQuota=150% CPUWeight=146 MemoryMax=4294967296"}
	if diff := cmp.Diff(want, f.calls); diff != "" {
		t.Error(diff)
	}
	f.calls = nil
	s := f.systemd()
	s.Persistent = true
	if err := s.Set(t.Context(), "web.service", Limits{CPUs: 0.01}); err != nil || !slices.Equal(f.calls, []string{"set-property -- web.service CPUQuota=1%"}) {
		t.Errorf("persistent: %q, %v", f.calls, err)
	}
	f.calls = nil
	if err := s.Set(t.Context(), "web.service", Limits{}); err != nil || len(f.calls) > 0 {
		t.Errorf("of nothing: %q, %v", f.calls, err)
	}
	for want, bad := range map[string]Limits{
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
		if err := s.Set(t.Context(), "web.service", bad); err == nil || !strings.Contains(err.Error(), want) || len(f.calls) > 0 {
			t.Errorf("Set(%+v) = %v after %q, want %q", bad, err, f.calls, want)
		}
	}
	f.err = errors.New("systemctl: Failed to set unit properties: Access denied")
	if err := s.Set(t.Context(), "web.service", Limits{Memory: 1 << 30}); err == nil || !strings.Contains(err.Error(), "run as root") {
		t.Errorf("Set = %v", err)
	}
}

// shown is what systemctl show prints: numbers plain, times in words, an empty list without a value.
const shown = `IOWeight=200
CPUQuotaPerSecUSec=1.500s
CPUWeight=146
MemoryMax=4294967296
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
	want := Limits{
		Devices: []Device{{Path: "/dev/sdb", ReadBPS: 1, WriteBPS: 2, WriteIOPS: 4, Weight: 500, Latency: time.Minute + 5500*time.Microsecond}, {Path: "/dev/sdc", ReadBPS: 7}},
		Weight:  200, CPUs: 1.5, CPUShares: 1495, Memory: 4 << 30,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Get: %v: %s", err, diff)
	}
	if len(f.calls) != 1 || !strings.HasPrefix(f.calls[0], "show --property=IOWeight,CPUQuotaPerSecUSec,") || !strings.Contains(f.calls[0], ",IODeviceLatencyTargetUSec -- web.service") {
		t.Errorf("calls %q", f.calls)
	}
	for _, x := range []struct {
		show  string
		paths []string
		want  string
	}{
		{shown, nil, "set-property --runtime -- web.service IOReadBandwidthMax= IOWriteBandwidthMax= IOWriteIOPSMax= IODeviceWeight= IODeviceLatencyTargetSec= IOWeight= CPUQuota= CPUWeight= MemoryMax=infinity"},
		{shown, []string{"/dev/sdc"}, "set-property --runtime -- web.service IOReadBandwidthMax=/dev/sdc infinity"},
		{shown, []string{"/dev/sdb"}, "set-property --runtime -- web.service IOReadBandwidthMax=/dev/sdb infinity IOWriteBandwidthMax=/dev/sdb infinity IOWriteIOPSMax=/dev/sdb infinity IODeviceWeight=/dev/sdb 100 IODeviceLatencyTargetSec=/dev/sdb infinity"},
		{shown, []string{"/dev/sdd"}, ""},
		{none, nil, ""},
	} {
		f := &fake{t: t, show: x.show}
		if err := f.systemd().Clear(t.Context(), "web.service", x.paths); err != nil {
			t.Errorf("Clear(%q): %v", x.paths, err)
		}
		if got := strings.Join(f.calls[1:], "|"); got != x.want {
			t.Errorf("Clear(%q) called %q, want %q", x.paths, got, x.want)
		}
	}
	if got, err := parse(none); err != nil || !cmp.Equal(got, Limits{}) {
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
	if err := s.Set(t.Context(), "plimsoll-no-such.service", Limits{Memory: 1 << 30}); err == nil || !strings.Contains(err.Error(), "systemd does not run this machine's services") {
		t.Errorf("Set = %v", err)
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
