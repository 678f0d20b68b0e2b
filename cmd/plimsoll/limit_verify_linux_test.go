package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestLimitVerifyWhere: a group has no files of its own, so that a folder must be named; a device is none.
func TestLimitVerifyWhere(t *testing.T) {
	t.Parallel() // What is limited waits most of the time, and its disk is its own.
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
		// A limit hidden behind a lower one is unproved, and one that the kernel hasn't got isn't held.
		{exitNotHeld, []string{"unproved: asked 1 GiB/s; write_iops of 2 lets no more", "the kernel has no write_iops", "NOT held: 1 of 2 rows"}, []string{l.name, "--path", l.path, "--write-bps", "1GiB", "--write-iops", "2", "--modes", "buffered+fsync"}},
	} {
		text := l.do(t, row.status, append([]string{"verify", "--time", "3s"}, row.args...)...)
		for _, w := range row.words {
			if !strings.Contains(text, w) {
				t.Errorf("%v: no %q in %s", row.args, w, text)
			}
		}
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

// TestLimitVerifySetsNothing: a limit that is named and not set is found not to hold, with the reason and what mends it; and
// nothing is set.
func TestLimitVerifySetsNothing(t *testing.T) {
	t.Parallel() // What is limited waits most of the time, and its disk is its own.
	l := newBadLab(t)
	before := l.kernel(t)
	text := l.do(t, exitNotHeld, "verify", l.name, "--path", l.path, "--write-bps", "512KiB", "--modes", "direct", "--time", "3s")
	for _, w := range []string{
		"note: write_bps of cgroup:/", "is measured against 512KiB; the kernel has write_bps of 1MiB, and verify sets nothing",
		"write_bps, direct, is not held: the kernel has write_bps of 1MiB for cgroup:/", "fix: plimsoll limit set " + l.name + " --path " + l.path + " --write-bps 512KiB", "NOT held: 1 of 1 row",
	} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %s", w, text)
		}
	}
	if now := l.kernel(t); now != before {
		t.Errorf("the kernel has %q, want %q", now, before)
	}
}

// TestLimitVerifyRefusedJSON: what breaks off is told in JSON too.
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
	if err := json.Unmarshal([]byte(text[:end+1]), &got); err != nil || len(got) != 1 || got[0].Rows == nil || !strings.Contains(got[0].Error, "twice that must be free") {
		t.Errorf("%+v, %v: %s", got, err, text)
	}
}

// TestLimitVerifyMembers: of a btrfs on several devices each is judged by what came to it, and it is told what they let through in all.
func TestLimitVerifyMembers(t *testing.T) {
	needBlkio(t)
	t.Parallel() // What is limited waits most of the time, and its disk is its own.
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
	text := l.do(t, exitDone, "verify", name, "--path", dir, "--modes", "direct", "--time", "3s")
	for _, loop := range []string{one, two} {
		want := filepath.Base(loop) + " (" + disktest.Number(t, loop) + "), one of the 2 devices of its data, each with the limit: judged by the I/O of this one:"
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(text, "held: asked 8 MiB/s") || !strings.Contains(text, " at this device") || strings.Contains(text, "NOT held") {
		t.Errorf("want it held at each device:\n%s", text)
	}
}
