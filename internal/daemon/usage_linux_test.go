package daemon

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/watch"
)

// TestUsage: the state tells what a container does beside what it was asked to stay under, and what reaches a volume with a device of
// its own, and reads nothing until it is asked.
func TestUsage(t *testing.T) {
	needV1(t)
	disk, dir := disktest.Disk(t, disktest.Options{})
	b := startOn(t, keeper.Options{}, disk, oneRule)
	b.eventually("nothing is used while nothing is held", func() bool {
		s, err := Ask(b.opt.Run)
		return err == nil && s.Usage == nil && s.UsageError == ""
	})
	user := targetOf(b.group)
	user.Mounts = []target.Mount{{Volume: "data", Source: dir, Destination: "/data"}, {Volume: "folder", Source: t.TempDir(), Destination: "/folder"}}
	b.d.Started(user)
	b.has(b.group, "1048576")
	dd := exec.Command("sh", "-c", "echo $$ > "+string(b.group)+"/cgroup.procs && exec dd if=/dev/zero of="+filepath.Join(dir, "file")+" bs=64k count=960 oflag=direct") // It writes until the test ends.
	if err := dd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dd.Process.Kill(); _ = dd.Wait() }()
	began := time.Now()
	if _, err := Ask(b.opt.Run); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < leastUsage {
		t.Errorf("the first answer took %v, an interval is %v", took, leastUsage)
	}
	var s *Status
	var u watch.Usage
	var got watch.Rate
	// Where dd gets no CPU for a while, it writes less than it may.
	b.eventually("the container is at its limit", func() bool {
		time.Sleep(leastUsage)
		var err error
		if s, err = Ask(b.opt.Run); err != nil || s.Usage == nil || len(s.Usage.Subjects) != 1 {
			t.Fatalf("the state: %+v, %v", s, err)
		}
		if u = s.Usage.Subjects[0]; u.Write == nil || u.App == nil || len(u.Rates) != 1 {
			t.Fatalf("what it does: %+v", u)
		}
		got = u.Rates[0]
		return got.Standing != watch.Below
	})
	t.Logf("in %.2f s the application wrote %d bytes, the device %d; asked %d, seen %.0f a second: %s", s.Usage.Seconds, u.App.StorageWritten, u.Write.Bytes, got.Asked, *got.Seen, got.Standing)
	if got.Key != limit.WriteBPS || got.Asked != 1<<20 || got.Standing != watch.At {
		t.Errorf("asked and seen: %+v", got)
	}
	if off := u.Write.Bytes - u.App.StorageWritten; off < -1<<18 || off > 1<<18 {
		t.Errorf("the application wrote %d bytes directly, the device %d", u.App.StorageWritten, u.Write.Bytes)
	}
	volumes := s.Usage.Volumes
	if len(volumes) != 2 {
		t.Fatalf("the volumes: %+v", volumes)
	}
	data, folder := volumes[0], volumes[1]
	if data.Name != "data" || data.Write == nil {
		t.Fatalf("the first volume: %+v, want data with writes", data)
	}
	if folder.Name != "folder" || folder.Write != nil || folder.Why == "" {
		t.Fatalf("the second volume: %+v, want folder without writes, and why", folder)
	}
	// A write counts for the group when it is sent, for the device when it is complete: one is on its way.
	if data.Write.Bytes < u.Write.Bytes-64<<10 || data.Write.Bytes > u.Write.Bytes+1<<20 {
		t.Errorf("its device wrote %d bytes for the container, and %d for the volume", u.Write.Bytes, data.Write.Bytes)
	}
	if len(data.Users) != 1 || data.Users[0] != u.Ref {
		t.Errorf("the volume's users are %v, want %s", data.Users, u.Ref)
	}
	// Another container's volume is on the device now: what is whose can't be told.
	second := disktest.NewBlkioGroup(t)
	other := targetOf(second)
	other.Mounts = []target.Mount{{Volume: "part", Source: filepath.Join(dir, "lost+found"), Destination: "/part"}}
	b.d.Started(other)
	b.has(second, "1048576")
	s, err := Ask(b.opt.Run)
	if err != nil || s.Usage == nil || len(s.Usage.Volumes) != 3 {
		t.Fatalf("the state: %+v, %v", s, err)
	}
	if v := s.Usage.Volumes[0]; v.Write != nil || !strings.Contains(v.Why, ":part is on its device") {
		t.Errorf("a volume that shares its device: %+v", v)
	}
}

// TestLieLimitRaisedAndBack: the policy is changed to more and back between two questions. What came through meanwhile was "ABOVE THE LIMIT".
func TestLieLimitRaisedAndBack(t *testing.T) {
	t.Parallel() // What is limited waits most of the time, and its disk is its own.
	needV1(t)
	disk, dir := disktest.Disk(t, disktest.Options{Size: 64 << 20, Memory: true})
	policy := func(bps string) string { return strings.ReplaceAll(oneRule, "1MiB", bps) }
	b := startOn(t, keeper.Options{}, disk, policy("4MiB"))
	b.d.Started(targetOf(b.group))
	b.has(b.group, "4194304")
	dd := exec.Command("sh", "-c", "echo $$ > "+string(b.group)+"/cgroup.procs && while :; do dd if=/dev/zero of="+filepath.Join(dir, "file")+" bs=64k count=256 oflag=direct; done")
	dd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := dd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-dd.Process.Pid, syscall.SIGKILL); _ = dd.Wait() }()
	if _, err := Ask(b.opt.Run); err != nil {
		t.Fatal(err)
	}
	for _, bps := range []struct{ text, value string }{{"40MiB", "41943040"}, {"4MiB", "4194304"}} {
		b.write(policy(bps.text))
		b.has(b.group, bps.value)
		time.Sleep(500 * time.Millisecond)
	}
	s, err := Ask(b.opt.Run)
	if err != nil || s.Usage == nil {
		t.Fatalf("the state: %+v, %v", s, err)
	}
	if all := s.Usage.Subjects; len(all) != 1 || len(all[0].Rates) != 1 {
		t.Fatalf("the subjects: %+v, want one with one rate", all)
	}
	if got := s.Usage.Subjects[0].Rates[0]; got.Standing != watch.Changed || *got.Seen < 5<<20 {
		t.Errorf("%s, %.0f a second; want more than was asked, and that the limit changed", got.Standing, *got.Seen)
	}
}

// TestStatusTogether: many who ask at the same time wait for one interval, and not one after the other.
func TestStatusTogether(t *testing.T) {
	b := newBench(t, keeper.Options{}, oneRule)
	b.d.Started(targetOf(b.group))
	b.has(b.group, "1048576")
	b.eventually("it is held", func() bool { return len(b.d.Status().Containers) == 1 })
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			s, err := Ask(b.opt.Run)
			if err != nil {
				t.Error(err)
			} else if s.Usage == nil || len(s.Containers) != 1 {
				t.Errorf("the state: %+v", s)
			}
		})
	}
	all.Wait()
	// One that takes too long is left out.
	if u, err := b.d.meter.usage(t.Context(), time.Nanosecond); u != nil || !errors.Is(err, ErrLate) {
		t.Errorf("usage() in a nanosecond = %v, %v", u, err)
	}
}
