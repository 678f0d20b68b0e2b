package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
)

// TestLimitVerifyWhere: a group has no files of its own, so that a folder must be named; a device is none.
func TestLimitVerifyWhere(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	loop := filepath.Base(l.loop) + " (" + disktest.Number(t, l.loop) + ")"
	for _, row := range []struct {
		status int
		words  []string
		args   []string
	}{
		{exitUsage, []string{"none of its own", "--path", loop}, []string{l.name}},
		{exitUsage, []string{"none of its own", "--path", "on " + l.loop}, []string{l.name, "--device", l.loop}},
		{exitFailure, []string{"plimsoll-no-such"}, []string{"cgroup:/plimsoll-no-such"}},
		{exitCannot, []string{"tmpfs", "instead"}, []string{l.name, "--path", "/dev/shm"}},
		{exitCannot, []string{"no limit on I/O that could be tried"}, []string{l.name, "--path", "/"}},
		// Not a flag that tries nothing.
		{exitUsage, []string{"unknown flag: --cpus"}, []string{l.name, "--path", l.path, "--cpus", "0.5"}},
		{exitUsage, []string{"--write-bps none"}, []string{l.name, "--path", l.path, "--write-bps", "none"}},
		{exitUsage, []string{"--tolerance 0"}, []string{l.name, "--path", l.path, "--tolerance", "0"}},
	} {
		text := l.do(t, row.status, append([]string{"verify", "--time", "3s"}, row.args...)...)
		texttest.Has(t, text, row.words, row.args)
	}
	cmd := exec.Command("sh", "-c", "read end")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if err := l.group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if text := l.do(t, exitCannot, "verify", fmt.Sprint("pid:", cmd.Process.Pid), "--device", l.loop); !strings.Contains(text, "none of its data is on "+l.loop) {
		t.Errorf("a device that has none of its files: %s", text)
	}
}

// masks replace what differs from run to run: the group, the disk and the folders.
func (l badLab) masks(t *testing.T) []golden.Mask {
	t.Helper()
	return []golden.Mask{
		golden.Text(l.path, "FOLDER"), golden.Text(l.state, "STATE"), golden.Text(string(l.group), "GROUP"),
		golden.Text("/"+filepath.Base(string(l.group)), "/NAME"), golden.Text(filepath.Base(l.loop), "LOOP"), golden.Text(disktest.Number(t, l.loop), "7:N"),
	}
}

// TestLimitVerifySetsNothing: a limit that is named and not set is found not to hold, with the reason and what mends it; and
// nothing is set.
func TestLimitVerifySetsNothing(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	before := l.kernel(t)
	_, text := l.judged(t, judge.NotHeld, exitNotHeld, nil, "verify", l.name, "--path", l.path, "--write-bps", "512KiB", "--write-iops", "2", "--modes", "direct")
	golden.Check(t, "verify-sets-nothing.txt", text, l.masks(t)...)
	if now := l.kernel(t); now != before {
		t.Errorf("the kernel has %q, want %q", now, before)
	}
}

// TestLimitVerifyRefusedJSON: the JSON reports a verify that breaks off too.
func TestLimitVerifyRefusedJSON(t *testing.T) {
	needBlkio(t)
	l := badLab{limitLab: limitLab{state: t.TempDir()}, group: disktest.NewBlkioGroup(t)}
	l.loop, l.path = disktest.Disk(t, disktest.Options{Size: 64 << 20, Memory: true})
	text := l.do(t, exitCannot, "verify", "cgroup:"+string(l.group), "--path", l.path, "--write-bps", "50MiB", "--time", "3s", "--json")
	var got []struct {
		Rows  []json.RawMessage
		Error string
	}
	end := strings.LastIndex(text, "]")
	if err := json.Unmarshal([]byte(text[:end+1]), &got); err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v: %s", got, err, text)
	}
	if got[0].Rows == nil {
		t.Errorf("rows are null: %s", text)
	}
	if !strings.Contains(got[0].Error, "twice that must be free") {
		t.Errorf("error %q", got[0].Error)
	}
}

// TestLimitVerifyMembers: of a btrfs on several devices each is measured by itself, with the number of them, and set says what they let through in all.
func TestLimitVerifyMembers(t *testing.T) {
	needBlkio(t)
	t.Parallel() // A limited process mostly waits, and the disks are this test's own.
	l := limitLab{state: t.TempDir()}
	name := "cgroup:" + string(disktest.NewBlkioGroup(t))
	memory := disktest.Mount(t, "tmpfs", "tmpfs", 0, "")
	one := disktest.Loop(t, disktest.ImageNamed(t, memory, "one", 256<<20), true)
	two := disktest.Loop(t, disktest.ImageNamed(t, memory, "two", 256<<20), true)
	disktest.Format(t, two, "btrfs", "-d", "raid0", "-m", "raid1", one)
	dir := disktest.Mount(t, one, "btrfs", 0, "device="+two)
	set := l.do(t, exitDone, "set", name, "--path", dir, "--write-bps", "8MiB")
	if want := "note: " + dir + ": Each of the 2 devices gets the limit. With the profile raid0 a file is on all or on one of them: up to 2 times the limit passes in all."; !strings.Contains(set, want) {
		t.Errorf("no %q in\n%s", want, set)
	}
	const each = "), one of the 2 devices of its data, each with the limit: judged by the I/O of this one:"
	asked, _ := l.judged(t, judge.Held, exitDone, []string{filepath.Base(one) + " (" + disktest.Number(t, one) + each, filepath.Base(two) + " (" + disktest.Number(t, two) + each}, "verify", name, "--path", dir)
	var on []string
	for _, r := range asked {
		on = append(on, "/dev/"+r.Device.Name)
		if r.Members != 2 {
			t.Errorf("%s would be measured as one of %d devices", r.Device.Name, r.Members)
		}
	}
	slices.Sort(on)
	want := []string{one, two}
	slices.Sort(want)
	if !slices.Equal(on, want) {
		t.Errorf("verify would measure %v, want %v", on, want)
	}
}
