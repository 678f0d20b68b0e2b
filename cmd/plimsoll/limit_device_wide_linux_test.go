package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/show"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/texttest"

	"golang.org/x/sys/unix"
)

// rootThrottle is version 1's root group's file of a rate.
func rootThrottle(key string) string { return "/sys/fs/cgroup/blkio/blkio.throttle." + key + "_device" }

// rootHas is what the root group has for a device.
func rootHas(t *testing.T, key, device string) string {
	t.Helper()
	b, err := os.ReadFile(rootThrottle(key))
	if err != nil {
		t.Fatal(err)
	}
	number := disktest.Number(t, device) + " "
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, number); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// rootGets writes a rate to the root group, as another program would, and removes it after the test.
func rootGets(t *testing.T, key, device, value string) {
	t.Helper()
	put := func(v string) error {
		return os.WriteFile(rootThrottle(key), []byte(disktest.Number(t, device)+" "+v), 0)
	}
	if err := put(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := put("0"); err != nil {
			t.Error(err)
		}
	})
}

// deviceWideLab is a disk and groups.
func deviceWideLab(t *testing.T) (l limitLab, loop, dir string, says func(status int, words []string, args ...string) string) {
	t.Helper()
	needBlkio(t)
	l = limitLab{target.Options{}, t.TempDir()}
	loop, dir = fastDisk(t)
	for _, key := range []string{"read_bps", "write_bps", "read_iops", "write_iops"} {
		rootGets(t, key, loop, "0")
	}
	return l, loop, dir, func(status int, words []string, args ...string) string {
		t.Helper()
		text := l.do(t, status, args...)
		texttest.Has(t, text, words, args)
		return text
	}
}

// TestLimitRootGroup: what was set in the root group for a target is shown as its own and cleared with it, whatever the state folder; another target is
// refused meanwhile, and limits that other programs have set stay.
func TestLimitRootGroup(t *testing.T) {
	l, loop, dir, says := deviceWideLab(t)
	disk := filepath.Base(loop)
	one, two := "cgroup:"+string(disktest.NewBlkioGroup(t)), "cgroup:"+string(disktest.NewBlkioGroup(t))
	root := func(when, want string) {
		t.Helper()
		if got := rootHas(t, "write_bps", loop); got != want {
			t.Errorf("%s: the root group has %q, want %q", when, got, want)
		}
	}
	set := func(name, value string) []string {
		return []string{"set", name, "--path", dir, "--write-bps", value, "--device-wide"}
	}
	says(exitDone, []string{"the root group, which does the writeback of other groups: set write_bps=6MiB", "prove it: plimsoll limit verify cgroup:/", " --path " + dir + " --device-wide --state " + l.state}, set(one, "6MiB")...)
	root("set", "6291456")
	says(exitDone, []string{"device-wide, in the root group", disk, "set for cgroup:/", "has write_bps=6MiB"}, "show", one)
	// All state folders see what one has set.
	l.state = t.TempDir()
	says(exitDone, []string{"device-wide, in the root group", disk, "set for cgroup:/", "has write_bps=6MiB"}, "show", "--device-wide")
	var got show.Answer
	if err := json.Unmarshal([]byte(says(exitDone, nil, "show", one, "--json")), &got); err != nil || len(got.DeviceLimits) != 1 || got.DeviceLimits[0].Now.WriteBPS != 6<<20 {
		t.Errorf("show --json: %+v, %v", got.DeviceLimits, err)
	}
	says(exitDone, []string{"no limits"}, "show", two)
	says(exitDone, []string{"the root group still has write_bps=6MiB"}, "set", one, "--path", dir, "--write-bps", "7MiB")
	says(exitDone, []string{"would write", "the root group, for " + disk}, "clear", one, "--dry-run")
	root("clear --dry-run", "6291456")
	says(exitDone, []string{"the root group, for " + disk, "cleared"}, "clear", one)
	root("clear", "")
	if text := says(exitDone, []string{"no limits"}, "show", one); strings.Contains(text, "device-wide") {
		t.Errorf("cleared: %s", text)
	}

	// Two targets: the second is refused until the first has given the limit up.
	says(exitDone, nil, set(one, "6MiB")...)
	says(exitCannot, []string{disk + " already has a limit in the root group, for cgroup:/", "(write_bps=6MiB); plimsoll limit clear cgroup:/", " removes it"}, set(two, "3MiB")...)
	says(exitCannot, []string{"already has a limit in the root group"}, append(set(two, "3MiB"), "--dry-run")...)
	root("another's", "6291456")
	says(exitDone, nil, set(one, "7MiB")...)
	root("its own", "7340032")
	says(exitDone, nil, "set", one, "--path", dir, "--write-bps", "none")
	root("none", "")
	says(exitDone, nil, set(two, "3MiB")...)
	root("the next one's", "3145728")
	says(exitDone, nil, "clear", two)

	// The output lists the limits that a removal at the device takes along, with their owners.
	says(exitDone, nil, set(one, "6MiB")...)
	says(exitDone, []string{"this also removes write_bps=6MiB on " + disk, "set there for cgroup:/"}, "set", two, "--path", dir, "--write-bps", "none", "--device-wide")
	root("another's none", "")

	says(exitDone, nil, set(one, "6MiB")...)
	says(exitDone, []string{"would write"}, "clear", "--device-wide", "--dry-run")
	root("all cleared, dry", "6291456")
	says(exitDone, []string{"the root group, for " + disk, "cleared"}, "clear", "--device-wide")
	root("all cleared", "")
	says(exitDone, []string{"no limit is recorded as set there"}, "show", "--device-wide")

	// Another program's limit stays.
	says(exitDone, nil, set(one, "6MiB")...)
	rootGets(t, "write_bps", loop, "5242880")
	rootGets(t, "read_bps", loop, "1048576")
	says(exitDone, []string{"write_bps=5MiB", "another program set it, so it stays"}, "clear", one)
	root("somebody's", "5242880")
	// Unless its device is named.
	says(exitDone, nil, "clear", one, "--device-wide", "--path", dir)
	if read := rootHas(t, "read_bps", loop); rootHas(t, "write_bps", loop) != "" || read != "" {
		t.Errorf("named: the root group has %q for reads", read)
	}
	for _, left := range journaltest.Entries(t, os.Getenv(paths.MachineVar)) {
		if strings.HasPrefix(left, "device-limit/") {
			t.Errorf("still recorded: %s", left)
		}
	}
}

// TestLimitDeviceWideGone: what was set in the root group for a target that has gone is shown and cleared by its name, or by its
// device.
func TestLimitDeviceWideGone(t *testing.T) {
	_, loop, dir, says := deviceWideLab(t)
	disk := filepath.Base(loop)
	for _, clear := range [][]string{nil, {"clear", "--device-wide", "--device", loop}, {"clear", "--device-wide"}} {
		group := disktest.NewBlkioGroup(t)
		name := "cgroup:" + strings.TrimPrefix(string(group), "/sys/fs/cgroup/blkio")
		says(exitDone, nil, "set", name, "--path", dir, "--write-bps", "6MiB", "--device-wide")
		if err := os.Remove(string(group)); err != nil {
			t.Fatal(err)
		}
		says(exitDone, []string{disk, "set for " + name, "note: "}, "show", name)
		says(exitDone, []string{disk, "set for " + name}, "show", "--device-wide")
		if clear == nil {
			clear = []string{"clear", name}
		}
		says(exitUsage, []string{"there is no device /dev/plimsoll-no-such (any more)"}, "clear", "--device-wide", "--device", "/dev/plimsoll-no-such")
		says(exitDone, []string{"the root group, for " + disk, "cleared"}, clear...)
		if got := rootHas(t, "write_bps", loop); got != "" {
			t.Errorf("%v: the root group has %q", clear, got)
		}
		says(exitFailure, nil, "show", name)
		says(exitFailure, nil, "clear", name)
	}
	says(exitUsage, []string{"takes TARGET, or --device-wide"}, "clear")
}

// TestLimitDeviceWideNotes: a machine's folder that can't be written, and records that can't be read, don't matter to a user without limits there.
func TestLimitDeviceWideNotes(t *testing.T) {
	l, loop, dir, says := deviceWideLab(t)
	machine := disktest.Tmpfs(t, "size=1m")
	t.Setenv(paths.MachineVar, machine)
	one, two := "cgroup:"+strings.TrimPrefix(string(disktest.NewBlkioGroup(t)), "/sys/fs/cgroup/blkio"), "cgroup:"+strings.TrimPrefix(string(disktest.NewBlkioGroup(t)), "/sys/fs/cgroup/blkio")
	says(exitDone, nil, "set", one, "--path", dir, "--write-bps", "6MiB", "--device-wide")
	entry := filepath.Join(machine, "journal", "device-limit", url.PathEscape(disktest.Number(t, loop))+".json")
	b, err := os.ReadFile(entry)
	mustDo(t, err)
	disktest.Remount(t, machine, unix.MS_RDONLY)
	l.do(t, exitDone, "set", two, "--device", loop, "--write-bps", "4MiB")
	if text := l.do(t, exitDone, "clear", two); !strings.Contains(text, "cleared") {
		t.Errorf("clear with a folder that can't be written: %s", text)
	}
	l.do(t, exitFailure, "clear", one)
	disktest.Remount(t, machine, 0)
	says(exitDone, nil, "set", one, "--path", dir, "--read-iops", "500", "--device-wide")
	room := filepath.Join(machine, "room")
	if err := os.WriteFile(room, make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	// A limit that was removed is not said to be there.
	says(exitFailure, []string{"the limits are as asked, but the record"}, "clear", one, "--path", dir, "--only", "read_iops", "--device-wide")
	if now := rootHas(t, "read_iops", loop) + "|" + rootHas(t, "write_bps", loop); now != "|6291456" {
		t.Errorf("the root group has %q after a clear that could not be recorded", now)
	}
	// Of a clear that names no target, nothing is done.
	says(exitFailure, []string{"no space left"}, "clear", "--device-wide", "--device", loop, "--only", "read_iops")
	if now := rootHas(t, "write_bps", loop); now != "6291456" {
		t.Errorf("the root group has %q after a clear that was not done", now)
	}
	mustDo(t, os.Remove(room))
	says(exitDone, nil, "clear", one, "--path", dir, "--only", "read_iops", "--device-wide")
	for _, broken := range []string{"", "{", "null", `{"version": 99}`} {
		mustDo(t, os.WriteFile(entry, []byte(broken), 0o600))
		l.do(t, exitDone, "set", two, "--device", loop, "--write-bps", "4MiB")
		for _, do := range []string{"show", "clear"} {
			if text := l.do(t, exitDone, do, two); !strings.Contains(text, "in the root group are not known") {
				t.Errorf("record of %q: %s: %s", broken, do, text)
			}
		}
		if text := l.do(t, exitFailure, "show", "--device-wide"); !strings.Contains(text, "--device DISK --device-wide removes them") {
			t.Errorf("record of %q: show: %s", broken, text)
		}
	}
	mustDo(t, os.WriteFile(entry, b, 0o600))
	l.do(t, exitDone, "clear", one)
}

// TestLimitNumberReused: what was set in the root group for a device that has gone is shown as that, when another has its number, and
// cleared by name or with all.
func TestLimitNumberReused(t *testing.T) {
	needBlkio(t)
	l := limitLab{target.Options{}, t.TempDir()}
	one, other := disktest.Image(t, 16<<20), disktest.Image(t, 16<<20)
	loop := disktest.Loop(t, one, false, other)
	rootGets(t, "write_bps", loop, "0")
	name := "cgroup:" + strings.TrimPrefix(string(disktest.NewBlkioGroup(t)), "/sys/fs/cgroup/blkio")
	for _, clear := range []string{name, "--device-wide"} {
		l.do(t, exitDone, "set", name, "--device", loop, "--write-bps", "6MiB", "--device-wide")
		if text := l.do(t, exitDone, "show", "--device-wide"); strings.Contains(text, "another device") {
			t.Errorf("show: %s", text)
		}
		disktest.Reattach(t, loop, other)
		if text, want := l.do(t, exitDone, "show", "--device-wide"), "set for "+name+" when another device had that number: write_bps=6MiB"; !strings.Contains(text, want) || !strings.Contains(text, "plimsoll limit clear "+name+" removes it") {
			t.Errorf("show: no %q, with what removes it, in\n%s", want, text)
		}
		var got show.Answer
		if err := json.Unmarshal([]byte(l.do(t, exitDone, "show", "--device-wide", "--json")), &got); err != nil || len(got.DeviceLimits) != 1 {
			t.Fatalf("show --json: %+v, %v", got.DeviceLimits, err)
		}
		if d := got.DeviceLimits[0]; !d.Former || d.Gone {
			t.Errorf("show --json: %+v, want one of a former device that is not gone", d)
		}
		l.do(t, exitDone, "clear", clear)
		if got := rootHas(t, "write_bps", loop); got != "" {
			t.Errorf("clear %s: the root group has %q", clear, got)
		}
		one, other = other, one
	}
}
