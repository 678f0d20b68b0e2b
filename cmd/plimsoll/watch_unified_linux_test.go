package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/watch"
)

// inGroup runs a command in a group, and returns when it is there: what a process that moves in later does isn't the group's. Its end is waited
// for with the function.
func inGroup(t *testing.T, g disktest.Group, command string) (wait func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `echo $$ >"$0" && `+command, filepath.Join(string(g), "cgroup.procs"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); kept(t, g, "cgroup.procs") == "" && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestWatchUnified: version 2 charges each device of a stack, and what went through it counts once; a group that writes at its limit stands
// at it, and waits.
func TestWatchUnified(t *testing.T) {
	needRun(t)
	group := disktest.NewUnifiedGroup(t, "io", "memory")
	loop, dir := disktest.Disk(t, disktest.Options{Size: 64 << 20, Direct: true})
	disk, name := filepath.Base(loop), "cgroup:"+string(group)
	l := limitLab{state: t.TempDir()}
	interval := func(took string) (watch.Usage, string) {
		t.Helper()
		r := plimsoll(t, t.Context(), l.state, "", "watch", name, "--once", "--json", "--interval", took)
		var i watch.Interval
		if err := json.Unmarshal([]byte(r.stdout), &i); err != nil || r.status != exitDone || len(i.Subjects) != 1 {
			t.Fatalf("status %d, %v: %s%s", r.status, err, r.stdout, r.stderr)
		}
		if i.RootGroup != nil {
			t.Errorf("version 2 has no root group with counters: %s", r.stdout)
		}
		return i.Subjects[0], r.stdout
	}
	const mib = 1 << 20
	// The writer outlives the interval: what it has done is read while it is there.
	for _, row := range []struct{ how, flags string }{{"directly", "oflag=direct"}, {"through the page cache", "conv=fsync"}} {
		wait := inGroup(t, group, fmt.Sprintf("sleep 1; dd if=/dev/zero of=%s/file bs=1M count=20 %s; sleep 6", dir, row.flags))
		u, text := interval("6s")
		wait()
		if u.Write == nil || u.Write.Bytes < 20*mib || u.Write.Bytes > 22*mib {
			t.Errorf("20 MiB written %s through a loop device are %+v\n%s", row.how, u.Write, text)
		}
		if u.App == nil || u.App.StorageWritten < 20*mib || u.App.StorageWritten > 21*mib {
			t.Errorf("the application, which wrote %s: %+v\n%s", row.how, u.App, text)
		}
		var own, beneath int
		for _, c := range u.Devices {
			switch {
			case c.Write == nil || c.Write.Bytes < 20*mib:
			case c.Name == disk:
				own++
			case slices.Contains(c.Above, disk):
				beneath++
			}
		}
		if own != 1 || beneath != 1 {
			t.Errorf("the loop device is charged %d times, the disk beneath it %d times, want 1 and 1\n%s", own, beneath, text)
		}
	}

	l.do(t, exitDone, "set", name, "--path", dir, "--write-bps", "1MiB")                            // A busy, emulated processor gets there, too.
	wait := inGroup(t, group, "exec dd if=/dev/zero of="+dir+"/file bs=64k count=192 oflag=direct") // 12 s.
	time.Sleep(time.Second)
	u, text := interval("7s") // The kernel's slices, and an I/O at each end, are 3 % of it.
	wait()
	if len(u.Rates) != 1 || u.Rates[0].Standing != watch.At || u.Rates[0].Asked != mib {
		t.Errorf("limits: %+v\n%s", u.Rates, text)
	}
	if u.Waits == nil || u.Waits.Some < 1 { // The rest is an emulated processor's.
		t.Errorf("waits: %+v, of 7 s of a process that only waits\n%s", u.Waits, text)
	}
}
