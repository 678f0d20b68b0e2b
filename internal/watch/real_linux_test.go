package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

// A lab watches one group on this machine.
type lab struct {
	t       *testing.T
	group   disktest.Group
	holder  *hold.Holder
	sampler *Sampler
	subject *Subject
}

// newLab makes a group whose data lies on folders, and has the kernel count on the devices.
func newLab(t *testing.T, devices, folders []string) *lab {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	// A limit that holds nothing makes the kernel count.
	for _, d := range devices {
		if err := group.Put("blkio.throttle.read_bps_device", disktest.Number(t, d)+fmt.Sprintf(" %d", int64(1)<<40)); err != nil {
			t.Fatal(err)
		}
	}
	return newLabOf(t, group, folders)
}

// newLabAny is newLab with the version of control groups that the machine has.
func newLabAny(t *testing.T, devices, folders []string) *lab {
	t.Helper()
	if _, err := os.Stat("/sys/fs/cgroup/blkio"); err == nil {
		return newLab(t, devices, folders)
	}
	return newLabOf(t, disktest.NewUnifiedGroup(t, "io", "memory"), folders)
}

// newLabOf watches a group whose data lies on folders.
func newLabOf(t *testing.T, group disktest.Group, folders []string) *lab {
	t.Helper()
	f := target.New(target.Options{Proc: "/proc"})
	t.Cleanup(func() { f.Close() })
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSampler(device.Host(), h.Groups)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := h.Groups.At(string(group))
	if err != nil {
		t.Fatal(err)
	}
	sub := &Subject{Ref: "cgroup:" + string(group), Target: target.Target{Kind: target.Cgroup, Name: string(group)}, Groups: groups, Buffered: Buffered(h.Explain)}
	for _, dir := range folders {
		e, err := h.Explain.Path(dir)
		if err != nil {
			t.Fatal(err)
		}
		sub.Places = append(sub.Places, PlaceOf(hold.Place{Name: dir, Path: dir, Explanation: e}))
	}
	return &lab{t, group, h, s, sub}
}

// during runs a shell command in the group and returns what was done meanwhile. The shell lives until the second sample.
func (l *lab) during(command string) Usage {
	l.t.Helper()
	return l.interval(command).Subjects[0]
}

func (l *lab) interval(command string) *Interval {
	l.t.Helper()
	cmd := exec.Command("sh", "-c", "read go; "+command+"; echo done; read end")
	in, err := cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if err := l.group.Add(cmd.Process.Pid); err != nil {
		l.t.Fatal(err)
	}
	before := l.sample()
	fmt.Fprintln(in, "go")
	word := make([]byte, 5)
	if _, err := out.Read(word); err != nil || string(word) != "done\n" {
		l.t.Fatalf("%s: it says %q, %v", command, word, err)
	}
	i, err := Between(before, l.sample(), l.sampler.Beneath)
	if err != nil {
		l.t.Fatal(err)
	}
	return i
}

func (l *lab) sample() *Sample {
	l.t.Helper()
	s, err := l.sampler.Sample([]*Subject{l.subject}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// within reports whether n is at least want MiB, and not more than a few above it, which the file system needs.
func within(n, want int64) bool { return n >= want*mib && n < want*mib+4*mib }

// write is a command that writes MiB directly.
func write(dir string, n int) string {
	return fmt.Sprintf("dd if=/dev/zero of=%s bs=1M count=%d oflag=direct conv=fsync status=none", filepath.Join(dir, "file"), n)
}

// TestStackOnKernel: 100 MiB that go through two loop devices are charged on both, and are 100 MiB.
func TestStackOnKernel(t *testing.T) {
	lower, lowerDir := disktest.Disk(t, disktest.Options{Size: 512 * mib, Direct: true})
	image := disktest.ImageIn(t, lowerDir, 256*mib)
	upper := disktest.Loop(t, image, true)
	disktest.Format(t, upper, "ext4")
	dir := disktest.Mount(t, upper, "ext4", 0, "")
	l := newLab(t, []string{lower, upper}, []string{dir})
	u := l.during(write(dir, 100))
	if u.Why != "" || u.Write == nil || u.App == nil {
		t.Fatalf("%+v", u)
	}
	if !within(u.Write.Bytes, 100) || !within(u.Write.Most, 100) {
		t.Errorf("100 MiB through two loop devices are %.1f to %.1f MiB", float64(u.Write.Bytes)/mib, float64(u.Write.Most)/mib)
	}
	// Each of the two was charged with all of it, so that their sum would be 200 MiB.
	var names []string
	for _, c := range u.Devices {
		if c.Write == nil {
			t.Errorf("%s isn't counted: %s", c.Name, c.Why)
			continue
		}
		if name := "/dev/" + c.Name; name == lower || name == upper {
			names = append(names, name)
			if !within(c.Write.Bytes, 100) {
				t.Errorf("%s was charged with %.1f MiB", name, float64(c.Write.Bytes)/mib)
			}
		}
	}
	if strings.Join(names, " ") != upper+" "+lower {
		t.Errorf("devices %v, want %s and, beneath, %s", names, upper, lower)
	}
	for to, n := range map[string]int64{"to storage": u.App.StorageWritten, "by calls": u.App.WriteCalls.Bytes} {
		if !within(n, 100) {
			t.Errorf("the application wrote %.1f MiB %s", float64(n)/mib, to)
		}
	}
	if u.App.WriteCalls.IOs < 100 {
		t.Errorf("the application made %d calls", u.App.WriteCalls.IOs)
	}
	if u.App.Ended != 0 {
		t.Errorf("%d processes of the application ended", u.App.Ended)
	}
	if u.Uncharged == nil || *u.Uncharged > mib {
		t.Errorf("uncharged: %v, want next to nothing", u.Uncharged)
	}
	if len(u.Rates) != 2 || u.Rates[0].Standing != Below {
		t.Errorf("limits: %+v", u.Rates)
	}
	// With data of its own on the lower one, what came through the upper counts once all the same.
	l = newLab(t, []string{lower, upper}, []string{dir, lowerDir})
	u = l.during(write(dir, 40) + " && " + write(lowerDir, 20))
	if !within(u.Write.Bytes, 60) || !within(u.Write.Most, 100) {
		t.Errorf("40 MiB above and 20 below are %.1f to %.1f MiB", float64(u.Write.Bytes)/mib, float64(u.Write.Most)/mib)
	}
}

// TestBufferedOnKernel: what is left in the page cache is not 0, and what is written back is the root group's.
func TestBufferedOnKernel(t *testing.T) {
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true})
	l := newLab(t, []string{loop}, []string{dir})
	u := l.during("dd if=/dev/zero of=" + filepath.Join(dir, "file") + " bs=1M count=50 status=none")
	if u.Uncharged == nil || *u.Uncharged < 45*mib {
		t.Errorf("uncharged: %+v, of 50 MiB; %+v", u.Uncharged, u.Write)
	}
	if !within(u.App.StorageWritten, 50) || u.App.Wrote() < 50*mib {
		t.Errorf("the application: %+v", u.App)
	}
	// Somebody outside the group writes it back.
	l.interval("true")
	before := l.sample()
	disktest.Run(t, "sync", "-f", dir)
	i, err := Between(before, l.sample(), l.sampler.Beneath)
	if err != nil {
		t.Fatal(err)
	}
	if u := i.Subjects[0]; u.Write == nil || u.Write.Bytes > mib {
		t.Errorf("the group is charged with %+v for what the kernel wrote back", u.Write)
	}
	found := false
	for _, c := range i.RootGroup.Devices {
		if "/dev/"+c.Name == loop && c.Write != nil && c.Write.Bytes >= 40*mib {
			found = true
		}
	}
	if !found {
		t.Errorf("the root group: %+v, want 50 MiB on %s", i.RootGroup, loop)
	}
}

// TestLimitOnKernel: a writer that a limit holds back is at the limit, and waits.
func TestLimitOnKernel(t *testing.T) {
	t.Parallel() // It waits for a throttled disk.
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true, Memory: true})
	l := newLab(t, []string{loop}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" 5242880"); err != nil {
		t.Fatal(err)
	}
	u := l.during(write(dir, 15))
	if len(u.Rates) != 2 || u.Rates[1].Key != limit.WriteBPS || u.Rates[1].Standing != At {
		t.Errorf("limits: %+v", u.Rates)
	}
	// Seen by an independent measure: 15 MiB at 5 MiB/s take three seconds.
	if r := u.Rates[1]; r.Seen == nil || *r.Seen < 4.5*mib || *r.Seen > 5.6*mib {
		t.Errorf("seen: %+v", r)
	}
	// A process in a group of version 2 of its own would show pressure; this one is in the root group there.
	if u.Waits != nil {
		t.Errorf("waits: %+v, of a group that isn't there", u.Waits)
	}
}

// TestEndsOnKernel: counters of a child that the group's own process waited for are not lost; a group that is removed is told.
func TestEndsOnKernel(t *testing.T) {
	loop, dir := disktest.Disk(t, disktest.Options{Direct: true})
	l := newLab(t, []string{loop}, []string{dir})
	// Ten processes begin and end.
	u := l.during("for i in 1 2 3 4 5 6 7 8 9 10; do " + write(dir, 1) + "; done")
	if u.App == nil || !within(u.App.StorageWritten, 10) || u.App.Processes != 1 {
		t.Errorf("the application: %+v, want 10 MiB of processes that ended", u.App)
	}
	before := l.sample()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err := os.Remove(string(l.group)); err == nil || time.Now().After(end) {
			break
		}
	}
	i, err := Between(before, l.sample(), l.sampler.Beneath)
	if err != nil || !i.Subjects[0].Ended {
		t.Errorf("a group that was removed: %+v, %v", i.Subjects, err)
	}
}

// TestAsyncOnKernel: I/O that isn't a call of read or write is counted as for storage.
func TestAsyncOnKernel(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("needs fio")
	}
	loop, dir := disktest.Disk(t, disktest.Options{Direct: true})
	l := newLab(t, []string{loop}, []string{dir})
	u := l.during("fio --name=x --directory=" + dir + " --rw=write --bs=64k --size=8m --direct=1 --ioengine=libaio --iodepth=4 --thread >/dev/null")
	if u.App == nil || u.App.StorageWritten < 8*mib || !within(u.Write.Bytes, 8) {
		t.Errorf("8 MiB by libaio: %+v, %+v", u.App, u.Write)
	}
	if u.App.WriteCalls.Bytes > 6*mib {
		t.Errorf("libaio is among the calls, which docs/reference/watch.md says it isn't: %+v", u.App)
	}
}

// cpu is the time of CPUs that this process has taken.
func cpu(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSample is in many groups, each with a limit; see cmd/bench/limits for the machine's own.
func BenchmarkSample(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root")
	}
	const groups = 1000
	host, err := cgroup.Open(device.Host())
	if err != nil {
		b.Skip(err)
	}
	parent := disktest.NewGroup(b, "/sys/fs/cgroup/blkio")
	var subjects []*Subject
	for i := range groups {
		dir := filepath.Join(string(parent), fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { os.Remove(dir) })
		t, err := host.At(dir)
		if err != nil {
			b.Fatal(err)
		}
		subjects = append(subjects, &Subject{Ref: fmt.Sprint(i), Groups: t})
	}
	s, err := NewSampler(device.Host(), host)
	if err != nil {
		b.Fatal(err)
	}
	before, err := s.Sample(subjects, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sample", func(b *testing.B) {
		began, n := cpu(b), 0
		for ; b.Loop(); n++ {
			if _, err := s.Sample(subjects, nil); err != nil {
				b.Fatal(err)
			}
		}
		// A machine that does other things too takes longer, but no more of its CPUs.
		b.ReportMetric(float64((cpu(b)-began).Microseconds())/1000/float64(n), "cpu-ms/op")
	})
	after, err := s.Sample(subjects, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("between", func(b *testing.B) {
		for b.Loop() {
			if _, err := Between(before, after, s.Beneath); err != nil {
				b.Fatal(err)
			}
		}
	})
}
