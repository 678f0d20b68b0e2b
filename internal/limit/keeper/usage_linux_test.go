package keeper

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/disktest"
	"plimsoll/internal/limit"
	"plimsoll/internal/watch"
)

// TestUsage: the state tells what a container does beside what it was asked to stay under, and reads nothing until it is
// asked.
func TestUsage(t *testing.T) {
	needV1(t)
	disk, dir := disktest.Disk(t, disktest.Options{})
	group := disktest.NewBlkioGroup(t)
	r := start(t, Options{Holder: holderFor(t), Check: hour}, fmt.Sprintf("rules:\n- {name: one, match: all, where: {device: %s}, limits: {write_bps: 1MiB}}\n", disk))
	number := disktest.Number(t, disk)
	eventually(t, "nothing is used while nothing is held", func() bool {
		s, err := Ask(r.opt.Run)
		return err == nil && s.Usage == nil && s.UsageError == ""
	})
	r.k.Started(targetOf(group))
	eventually(t, "the group is held", func() bool { return rate(base(group), number) == "1048576" })
	dd := exec.Command("sh", "-c", "echo $$ > "+string(group)+"/cgroup.procs && exec dd if=/dev/zero of="+filepath.Join(dir, "file")+" bs=64k count=96 oflag=direct")
	if err := dd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dd.Process.Kill(); _ = dd.Wait() }()
	began := time.Now()
	if _, err := Ask(r.opt.Run); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < leastUsage {
		t.Errorf("the first answer took %v, an interval is %v", took, leastUsage)
	}
	time.Sleep(leastUsage)
	s, err := Ask(r.opt.Run)
	if err != nil || s.Usage == nil || len(s.Usage.Subjects) != 1 {
		t.Fatalf("the state: %+v, %v", s, err)
	}
	u := s.Usage.Subjects[0]
	if u.Write == nil || u.App == nil || len(u.Rates) != 1 {
		t.Fatalf("what it does: %+v", u)
	}
	got := u.Rates[0]
	t.Logf("in %.2f s the application wrote %d bytes, the device %d; asked %d, seen %.0f a second: %s", s.Usage.Seconds, u.App.StorageWritten, u.Write.Bytes, got.Asked, *got.Seen, got.Standing)
	if got.Key != limit.WriteBPS || got.Asked != 1<<20 || got.Standing != watch.At {
		t.Errorf("asked and seen: %+v", got)
	}
	if off := u.Write.Bytes - u.App.StorageWritten; off < -1<<18 || off > 1<<18 {
		t.Errorf("the application wrote %d bytes directly, the device %d", u.App.StorageWritten, u.Write.Bytes)
	}
}
