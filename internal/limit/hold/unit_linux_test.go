package hold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// A fakeSystemd is systemctl with one unit, whose group is the test's. It keeps properties as systemd 252 does and, as that
// does a moment later, leaves the group's files to whoever looks.
type fakeSystemd struct {
	name    string // unitName if it is empty
	group   string
	lists   map[string][]string // of device properties: "PATH VALUE"
	values  map[string]string
	changed int
	refuse  error
	// lost is called after properties were set, and its error is returned: as if systemd's answer had been lost.
	lost func() error
}

const unitName = "plimsoll-test.service"

// shownAs are the names by which two properties are shown.
var shownAs = map[string]string{"IODeviceLatencyTargetSec": "IODeviceLatencyTargetUSec", "CPUQuota": "CPUQuotaPerSecUSec"}

func (s *fakeSystemd) run(_ context.Context, argv ...string) ([]byte, error) {
	name := cmp.Or(s.name, unitName)
	if !slices.Contains(argv, name) {
		return []byte("LoadState=not-found\n"), nil
	}
	if argv[0] == "set-property" {
		if s.refuse != nil {
			return nil, s.refuse
		}
		s.changed++
		for _, p := range argv[slices.Index(argv, name)+1:] {
			property, value, _ := strings.Cut(p, "=")
			path, rate, device := strings.Cut(value, " ")
			switch {
			case device:
				list := slices.DeleteFunc(s.lists[property], func(l string) bool { return strings.HasPrefix(l, path+" ") })
				if rate != "infinity" {
					list = append(list, value)
				}
				s.lists[property] = list
			case value == "" && strings.HasPrefix(property, "IO"):
				delete(s.lists, property)
			default:
				s.values[property] = value
			}
		}
		if s.lost != nil {
			return nil, s.lost()
		}
		return nil, nil
	}
	if slices.Contains(argv, "--value") {
		return []byte(s.group + "\n"), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Id=%s\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=0\nControlGroup=%s\n", name, s.group)
	for property, list := range s.lists {
		for _, l := range list {
			fmt.Fprintf(&b, "%s=%s\n", cmp.Or(shownAs[property], property), l)
		}
	}
	if v := s.values["MemoryMax"]; v != "" {
		fmt.Fprintf(&b, "MemoryMax=%s\nMemorySwapMax=%s\n", v, s.values["MemorySwapMax"])
	}
	return []byte(b.String()), nil
}

// newUnit is a systemd with a unit in a group of the test's own, a holder that asks it, and what is in reach of a limit of the unit on a disk.
func newUnit(t *testing.T) (group disktest.Group, loop string, sys *fakeSystemd, h *Holder, s *Scope) {
	t.Helper()
	group = disktest.NewBlkioGroup(t)
	loop, _ = disktest.Disk(t, disktest.Options{})
	sys = &fakeSystemd{group: strings.TrimPrefix(string(group), "/sys/fs/cgroup/blkio"), lists: map[string][]string{}, values: map[string]string{}}
	f := target.New(target.Options{Proc: "/proc", Systemctl: sys.run})
	t.Cleanup(func() { f.Close() })
	h, err := New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = h.Scope(t.Context(), target.Ref{Kind: target.Unit, Name: unitName}, Where{Device: loop}, true); err != nil {
		t.Fatal(err)
	}
	return group, loop, sys, h, s
}

// TestUnit: a unit's limits are systemd's properties as well as the kernel's values; both are set and removed
// together, or neither.
func TestUnit(t *testing.T) {
	group, loop, sys, h, s := newUnit(t)
	if len(s.GroupSets) != 1 || s.GroupSets[0].Unit != unitName {
		t.Fatalf("group sets %+v", s.GroupSets)
	}
	file := filepath.Join(string(group), "blkio.throttle.write_bps_device")
	check := func(when, property, kernel string, calls int) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		if got := strings.Join(sys.lists["IOWriteBandwidthMax"], "|"); got != property {
			t.Errorf("%s: systemd has %q, want %q", when, got, property)
		}
		if got := strings.TrimSpace(string(b)); got != kernel {
			t.Errorf("%s: the kernel has %q, want %q", when, got, kernel)
		}
		if sys.changed != calls {
			t.Errorf("%s: %d calls, want %d", when, sys.changed, calls)
		}
	}
	change := limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
	property, kernel := loop+" 1048576", disktest.Number(t, loop)+" 1048576"
	done, err := h.Plan(t.Context(), s, change)
	if err != nil || len(done[0].Properties) != 1 || done[0].Properties[0] != "IOWriteBandwidthMax="+property {
		t.Errorf("Plan() = %+v, %v", done, err)
	}
	check("planned", "", "", 0)
	if _, err := h.Apply(t.Context(), s, change); err != nil {
		t.Fatal(err)
	}
	check("set", property, kernel, 1)
	if done, err := h.Apply(t.Context(), s, change); err != nil || done[0].Changes() {
		t.Errorf("Apply() again = %+v, %v", done, err)
	}
	check("set again", property, kernel, 1)

	// What only the kernel has, since somebody wrote it there, is given to systemd.
	sys.lists = map[string][]string{}
	if _, err := h.Apply(t.Context(), s, change); err != nil {
		t.Fatal(err)
	}
	check("systemd lost it", property, kernel, 2)

	// Refused by systemd: nothing is written.
	sys.refuse = errors.New("systemctl: Failed to set unit properties: Access denied")
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 2 << 20}}); err == nil || !strings.Contains(err.Error(), "run as root") {
		t.Errorf("Apply() = %v", err)
	}
	check("refused", property, kernel, 2)
	sys.refuse = nil

	// Refused by the kernel: systemd has what it had, also when that is in another group set.
	for n := range 2 {
		two := *s
		groups, err := h.Groups.At(string(disktest.NewBlkioGroup(t)))
		if err != nil {
			t.Fatal(err)
		}
		two.GroupSets = append(slices.Clone(s.GroupSets), GroupSet{Name: "the other", Groups: groups})
		refused := through(h, refuse(n+1))
		_, err = refused.Apply(t.Context(), &two, limit.Change{Set: limit.Limits{WriteBPS: 2 << 20}})
		if err == nil || !strings.Contains(err.Error(), "the earlier writes were undone") {
			t.Errorf("Apply() with write %d refused = %v", n+1, err)
		}
		check("undone", property, kernel, 4+2*n)
	}

	// systemd doesn't take it back: that is told, and the kernel is not left so.
	fails := through(h, func(path, text string, next func(string, string) error) error {
		if strings.HasSuffix(text, " 2097152") {
			sys.refuse = errors.New("no answer")
			return syscall.EIO
		}
		return next(path, text)
	})
	_, err = fails.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 2 << 20}})
	number := disktest.Number(t, loop)
	want := fmt.Sprintf("unit:%s: write_bps on %s: writing %q to %s: input/output error; NOT restored: the properties of %[1]s (unit %[1]s: no answer)",
		unitName, number, number+" 2097152", file)
	if err == nil || err.Error() != want {
		t.Errorf("Apply() that systemd doesn't take back = %v, want %s", err, want)
	}
	check("not undone", loop+" 2097152", kernel, 7)
	sys.refuse = nil
	if _, err := h.Apply(t.Context(), s, change); err != nil {
		t.Fatal(err)
	}
	check("set once more", property, kernel, 8)

	if _, err := h.Apply(t.Context(), s, limit.Clear()); err != nil {
		t.Fatal(err)
	}
	check("cleared", "", "", 9)
}

// TestUnitInterrupted: a systemctl that ends without an answer may have set all, and what was is set again. One that was refused has set
// nothing, and nothing is said to be restored.
func TestUnitInterrupted(t *testing.T) {
	group, loop, sys, h, s := newUnit(t)
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	check := func(when string, calls int) {
		t.Helper()
		if got, want := sys.lists["IOWriteBandwidthMax"], []string{loop + " 1048576"}; !slices.Equal(got, want) || sys.changed != calls {
			t.Errorf("%s: systemd has %q after %d calls, want %q after %d", when, got, sys.changed, want, calls)
		}
		if got, want := rateFiles(t, string(group)), disktest.Number(t, loop)+" 1048576"; len(got) != 1 || got[filepath.Join(string(group), "blkio.throttle.write_bps_device")] != want {
			t.Errorf("%s: the kernel has %v, want %s", when, got, want)
		}
	}
	more := limit.Change{Set: limit.Limits{WriteBPS: 2 << 20, ReadBPS: 3 << 20}}
	ctx, cancel := context.WithCancel(t.Context())
	for i, lost := range []func() error{
		func() error { return context.Canceled },
		func() error { return errors.New("systemctl: Failed to set unit properties: Connection timed out") },
		func() error { cancel(); return context.Canceled },
	} {
		sys.lost = func() error { sys.lost = nil; return lost() }
		if _, err := h.Apply(ctx, s, more); err == nil || !strings.Contains(err.Error(), "the earlier writes were undone") {
			t.Errorf("Apply() that is interrupted = %v", err)
		}
		check(fmt.Sprint("interrupted ", i), 3+2*i)
	}
	sys.refuse = errors.New("systemctl: Failed to set unit properties: Access denied")
	if _, err := h.Apply(t.Context(), s, more); err == nil || strings.Contains(err.Error(), "restored") {
		t.Errorf("Apply() that is refused = %v", err)
	}
	check("refused", 7)
}

// TestScope: a container in a scope of systemd's has its limits as the scope's properties too. Where the systemd that is asked has
// no such group, that is told, and the kernel alone has them.
func TestScope(t *testing.T) {
	scope := "docker-" + firstID + ".scope"
	c := newDaemon(t).addIn(firstID, scope)
	loop, _ := disktest.Disk(t, disktest.Options{})
	path := strings.TrimPrefix(string(c.group), "/sys/fs/cgroup/blkio")
	container := target.Target{
		Kind: target.Container, Engine: target.Docker, Name: "web", ID: firstID, PID: c.pid, StartTime: c.start, Running: true,
		Groups: []target.Group{{Version: 1, Controllers: []string{"blkio"}, Path: path}, {Version: 1, Controllers: []string{"name=systemd"}, Path: path}},
	}
	for _, tt := range []struct {
		name, group string
		owns        bool
	}{{scope, path, true}, {scope, "/user.slice/" + scope, false}, {unitName, path, false}} {
		sys := &fakeSystemd{name: tt.name, group: tt.group, lists: map[string][]string{}, values: map[string]string{}}
		f := target.New(target.Options{Proc: "/proc", Systemctl: sys.run})
		t.Cleanup(func() { f.Close() })
		h, err := New(device.Host(), f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.scope(t.Context(), &Scope{Target: container}, Where{Device: loop}, true)
		if err != nil {
			t.Fatal(err)
		}
		done, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}})
		if err != nil || len(done) != 1 {
			t.Fatalf("Apply() = %+v, %v", done, err)
		}
		want, notes := []string{loop + " 1048576"}, strings.Join(s.Notes, "")
		if !tt.owns {
			want = nil
		}
		if got := sys.lists["IOWriteBandwidthMax"]; !slices.Equal(got, want) || (s.GroupSets[0].Unit == scope) != tt.owns || strings.Contains(notes, "the system's systemd does not know") == tt.owns {
			t.Errorf("%s %s: systemd has %q, want %q; unit %q, notes %q", tt.name, tt.group, got, want, s.GroupSets[0].Unit, notes)
		}
		if now := rateFiles(t, string(c.group)); len(now) != 1 {
			t.Errorf("%s: the kernel has %v", tt.name, now)
		}
		if _, err := h.Apply(t.Context(), s, limit.Clear()); err != nil || len(sys.lists["IOWriteBandwidthMax"]) > 0 {
			t.Errorf("clear: %v; systemd has %v", err, sys.lists)
		}
		// Who looks after it all the time asks nobody.
		if s, err := h.ScopeOf(container, Where{Device: loop}, true); err != nil || s.GroupSets[0].Unit != "" {
			t.Errorf("ScopeOf() = %+v, %v", s, err)
		}
	}
}
