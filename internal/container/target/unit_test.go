package target

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mountinfo is that of a host with both versions.
const mountinfo = `30 1 0:26 / %[1]s rw - tmpfs tmpfs rw
31 30 0:27 / %[1]s/cpu,cpuacct rw,nosuid,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / %[1]s/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/x,name=systemd
33 30 0:29 / %[1]s/blkio rw,relatime - cgroup cgroup rw,blkio
34 30 0:30 / %[1]s/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
35 30 0:29 / %[1]s/again rw,relatime - cgroup cgroup rw,blkio
`

// systemctl answers like "show --property" of systemctl 252.
func systemctl(t *testing.T, answers map[string]string) Program {
	return func(_ context.Context, argv ...string) ([]byte, error) {
		want := []string{"show", "--property=" + unitProperties, "--"}
		if len(argv) != 4 || !slices.Equal(argv[:3], want) {
			t.Errorf("systemctl %q, want %q and a unit", argv, want)
		}
		a, ok := answers[argv[len(argv)-1]]
		if !ok {
			return nil, errors.New("systemctl: Failed to connect to bus: No such file or directory")
		}
		return []byte(a), nil
	}
}

// TestUnit: units of systemd, from systemctl's output. The guest's round tests a real systemd.
func TestUnit(t *testing.T) {
	x := newFixture(t)
	x.write("proc/self/mountinfo", strings.ReplaceAll(mountinfo, "%[1]s", x.path("cg")))
	for _, g := range []string{"blkio/system.slice/web.service", "unified/system.slice/web.service", "systemd/system.slice/web.service", "cpu,cpuacct/other", "again/system.slice/web.service", "unified/user.slice"} {
		x.write("cg/"+g+"/cgroup.procs", "")
	}
	x.process(55, "S", 700, "0::/system.slice/web.service")
	show := func(id, load, active, sub, pid, group string) string {
		return "MainPID=" + pid + "\nId=" + id + "\nControlGroup=" + group + "\nLoadState=" + load + "\nActiveState=" + active + "\nSubState=" + sub + "\n"
	}
	f := x.finder(Options{Systemctl: systemctl(t, map[string]string{
		"web.service":    show("web.service", "loaded", "active", "running", "55", "/system.slice/web.service"),
		"alias.service":  show("web.service", "loaded", "active", "running", "55", "/system.slice/web.service"),
		"user.slice":     show("user.slice", "loaded", "active", "active", "0", "/user.slice"),
		"idle.service":   show("idle.service", "loaded", "inactive", "dead", "0", ""),
		"lost.service":   show("lost.service", "loaded", "active", "running", "55", "/elsewhere"),
		"no.service":     show("no.service", "not-found", "inactive", "dead", "0", ""),
		"masked.service": show("masked.service", "masked", "inactive", "dead", "0", ""),
	})})
	got := resolve(t, f, "unit:alias.service")
	want := Target{
		Kind: Unit, Name: "web.service", State: "active, running", Running: true, PID: 55, StartTime: 700,
		Groups: []Group{
			{Version: 1, Controllers: []string{"name=systemd"}, Path: "/system.slice/web.service"},
			{Version: 1, Controllers: []string{"blkio"}, Path: "/system.slice/web.service"},
			{Version: 2, Path: "/system.slice/web.service"},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Target{})); diff != "" {
		t.Error(diff)
	}
	if groups, err := f.Groups(got); err != nil || len(groups) != 3 {
		t.Errorf("Groups = %+v, %v", groups, err)
	}
	slice := resolve(t, f, "unit:user.slice")
	if slice.PID != 0 || !slice.Running || len(slice.Groups) != 1 {
		t.Errorf("unit:user.slice: process %d, running %v, groups %+v; want one group without a process", slice.PID, slice.Running, slice.Groups)
	}
	if err := f.Alive(slice); err != nil {
		t.Errorf("unit:user.slice: %v", err)
	}
	wantErr[*NotRunningError](t, resolveErr(t, f, "unit:idle.service"), "unit:idle.service is not running (inactive, dead)", "systemctl start idle.service")
	for s, want := range map[string]string{
		"unit:no.service":     "there is no unit no.service",
		"unit:masked.service": `says that it is "masked"`,
		"unit:lost.service":   "not visible from here",
		"unit:none.service":   "bus can't be reached",
	} {
		if err := resolveErr(t, f, s); !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%s) = %v, want %q", s, err, want)
		}
	}
	x.write("proc/self/mountinfo", "30 1 0:26 / / rw - ext4 /dev/vda rw\n")
	if err := resolveErr(t, f, "cgroup:/web"); !strings.Contains(err.Error(), "no hierarchy of control groups is mounted") {
		t.Error(err)
	}
}

// TestUnitWithoutSystemd: without systemd, the error has the fix for systemctl's message.
func TestUnitWithoutSystemd(t *testing.T) {
	if _, err := exec.LookPath("systemctl"); err == nil {
		if _, err := os.Stat("/run/systemd/system"); err == nil {
			t.Log("systemd runs here")
		} else if err := resolveErr(t, finder(t, Options{}), "unit:web.service"); !strings.Contains(err.Error(), "so there are no units; name a group: cgroup:PATH") {
			t.Error(err)
		}
	}
	f := finder(t, Options{Systemctl: Exec("plimsoll-no-such-program")})
	if err := resolveErr(t, f, "unit:web.service"); !strings.Contains(err.Error(), "systemctl is not installed") {
		t.Error(err)
	}
}
