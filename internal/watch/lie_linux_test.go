package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/paralleltest"
)

// Most tests wait, for disks that are throttled.
func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// writeIOPS limits the lab's group on a device.
func (l *lab) writeIOPS(device string, iops int) {
	l.t.Helper()
	file, form := "blkio.throttle.write_iops_device", "%s %d"
	if _, err := os.Stat(filepath.Join(string(l.group), file)); err != nil {
		file, form = "io.max", "%s wiops=%d"
	}
	if err := l.group.Put(file, fmt.Sprintf(form, disktest.Number(l.t, device), iops)); err != nil {
		l.t.Fatal(err)
	}
}

// writeIOPS is the rate of writes that a group is limited to.
func (u Usage) writeIOPS() (Rate, bool) {
	i := slices.IndexFunc(u.Rates, func(r Rate) bool { return r.Key == limit.WriteIOPS })
	if i < 0 {
		return Rate{}, false
	}
	return u.Rates[i], true
}

// background runs a command in the lab's group until the test ends.
func (l *lab) background(command string) {
	l.t.Helper()
	l.group.Run(l.t, "sh", "-c", "exec "+command)
}

// over is what is done in so much time; meanwhile runs in the middle of it.
func (l *lab) over(d time.Duration, meanwhile func()) (Usage, *Interval) {
	l.t.Helper()
	before := l.sample()
	time.Sleep(d / 2)
	meanwhile()
	time.Sleep(d / 2)
	i, err := Between(before, l.sample(), l.sampler.Beneath)
	if err != nil {
		l.t.Fatal(err)
	}
	return i.Subjects[0], i
}

// job is a fio job that writes to a folder until it is killed. Its processes are threads, so that one kill ends it.
func job(dir, options string) string {
	return "fio --name=job --thread --filename=" + filepath.Join(dir, "data") + " --size=16m --rw=randwrite --bs=4k --direct=1 --time_based --runtime=60 --output=/dev/null " + options
}

// TestLieAsyncWaits: a libaio job that a limit holds sleeps in io_getevents, which the kernel's pressure leaves out. Before, its WAITS
// were 0 %.
func TestLieAsyncWaits(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"libaio", "io_uring"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dev, dir := disktest.Disk(t, disktest.Options{Size: 64 * mib, Direct: true})
			l := newLabAny(t, []string{dev}, []string{dir})
			l.writeIOPS(dev, 50)
			l.background(job(dir, "--iodepth=16 --ioengine="+engine))
			var u Usage
			for range 10 { // fio takes a while to begin, and a busy machine to reach the limit.
				u, _ = l.over(2*time.Second, func() {})
				if r, ok := u.writeIOPS(); ok && u.WaitTime != nil && r.Standing == At {
					break
				}
			}
			if u.WaitTime == nil || u.WaitTime.Seconds < 1 || u.WaitTime.From == "delay accounting" {
				t.Errorf("a job at its limit waited for %+v of 2 s, want most; rates %+v", u.WaitTime, u.Rates)
			}
			if len(u.Devices) == 0 || u.Devices[0].Service == nil || u.Devices[0].Service.Await <= 0 {
				t.Errorf("devices: %+v", u.Devices)
			}
		})
	}
}

// TestLieLimitLowered: what came through before a limit was lowered isn't above it.
func TestLieLimitLowered(t *testing.T) {
	t.Parallel()
	dev, dir := disktest.Disk(t, disktest.Options{Size: 64 * mib, Direct: true})
	l := newLabAny(t, []string{dev}, []string{dir})
	l.writeIOPS(dev, 2000)
	l.background(job(dir, "--ioengine=psync"))
	for range 5 {
		if u, _ := l.over(time.Second, func() {}); u.Write != nil && u.Write.IOsS > 60 {
			break
		}
	}
	u, _ := l.over(2*time.Second, func() { l.writeIOPS(dev, 20) })
	if r, _ := u.writeIOPS(); r.Asked != 20 || r.Standing != Changed {
		t.Errorf("the limit was lowered in the interval: %+v, want %q", r, Changed)
	}
	u, _ = l.over(2*time.Second, func() {})
	if r, _ := u.writeIOPS(); r.Standing == Changed || r.Standing == Above {
		t.Errorf("in the next interval: %+v", r)
	}
}

// TestServiceOnKernel: the device's time is the subject's where it is alone there, and a share of it beside another.
func TestServiceOnKernel(t *testing.T) {
	t.Parallel()
	dev, dir := disktest.Disk(t, disktest.Options{Size: 128 * mib, Direct: true})
	// Written before, and on the disk: what is written the first time costs the file system's journal writes, which are the root group's.
	for _, name := range []string{"data", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 16*mib), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("sync", "-f", dir).Run(); err != nil {
		t.Fatal(err)
	}
	l := newLabAny(t, []string{dev}, []string{dir})
	l.background(job(dir, "--ioengine=libaio --iodepth=8"))
	of := func() (*Service, DiskUse) {
		t.Helper()
		var u Usage
		var i *Interval
		for range 5 {
			if u, i = l.over(time.Second, func() {}); u.Write != nil && u.Write.IOs > 100 {
				break
			}
		}
		for _, d := range i.Devices {
			if len(u.Devices) > 0 && d.Number == u.Devices[0].Number && u.Devices[0].Service != nil {
				return u.Devices[0].Service, d
			}
		}
		t.Fatalf("no service: %+v", u)
		return nil, DiskUse{}
	}
	s, d := of()
	for range 8 { // The journal's writes of a file that was just opened come some seconds later, and count on a slow machine.
		if s.Alone {
			break
		}
		s, d = of()
	}
	if !s.Alone {
		t.Errorf("alone: %+v", s)
	}
	if s.Await < 0.9*d.WriteAw || s.Await > 1.1*d.WriteAw {
		t.Errorf("alone: await %.3f, the device's is %.3f", s.Await, d.WriteAw)
	}
	if s.Util > 100 || s.Util < 0.9*min(100, d.Util) {
		t.Errorf("alone: util %.1f, the device's is %.1f, with a queue of %.2f", s.Util, d.Util, d.Queue)
	}
	// The other is in the root group.
	other := exec.Command("sh", "-c", "exec "+job(t.TempDir(), "--ioengine=libaio --iodepth=8 --filename="+filepath.Join(dir, "other")))
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	for range 8 { // It takes a while to begin.
		if s, d = of(); !s.Alone && s.Queue <= 0.95*d.Queue {
			break
		}
	}
	if s.Alone || s.Queue > 0.95*d.Queue || s.Util > d.Util {
		t.Errorf("beside another: %+v; the device: queue %.2f, util %.1f", s, d.Queue, d.Util)
	}
}
