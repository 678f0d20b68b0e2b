package engine

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/text/refusal"
)

// A limitedSession is a session that has only a process, a folder and limits.
type limitedSession struct {
	Session
	pid int
	dir string
	io  *IOLimits
}

func (s *limitedSession) Info() Info          { return Info{PID: s.pid, HostPath: s.dir} }
func (s *limitedSession) IOLimits() *IOLimits { return s.io }

// sessionOn is a session of process pid in dir, with 1 MiB/s at the device.
func sessionOn(dir string, pid int) *limitedSession {
	return &limitedSession{pid: pid, dir: dir, io: &IOLimits{Engine: "host", ID: "t",
		Asked: limit.Limits{Name: "wide", WriteBPS: 1 << 20, DeviceWide: true}}}
}

// A deviceLab is a disk, a process in a group of its own, and plimsoll limit with the state directory of the run.
type deviceLab struct {
	// next is the plimsoll that sweeps.
	next             *hold.DeviceLimits
	t                *testing.T
	loop, dir, state string
	images           [2]string
	pid              int
	holder           *hold.Holder
	limits           *hold.DeviceLimits
	group            disktest.Group
}

func newDeviceLab(t *testing.T) *deviceLab {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	l := &deviceLab{t: t, state: t.TempDir(), images: [2]string{disktest.Image(t, 16<<20), disktest.Image(t, 16<<20)}, group: disktest.NewBlkioGroup(t)}
	for _, i := range l.images {
		disktest.Format(t, i, "ext4")
	}
	l.loop = disktest.Loop(t, l.images[0], false, l.images[1])
	t.Cleanup(func() { l.put("0") })
	// The device is read-only, so that its file may be changed.
	l.dir = disktest.Mount(t, l.loop, "ext4", unix.MS_RDONLY, "")
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	l.pid = sleeper.Process.Pid
	if err := group.Add(l.pid); err != nil {
		t.Fatal(err)
	}
	finder := target.New(target.Options{})
	t.Cleanup(func() { finder.Close() })
	var err error
	if l.holder, err = hold.New(device.Host(), finder); err != nil {
		t.Fatal(err)
	}
	l.limits = l.holder.DeviceLimits(l.state)
	return l
}

const rootWriteBPS = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"

// put writes to the root group as another program would.
func (l *deviceLab) put(value string) {
	l.t.Helper()
	if err := os.WriteFile(rootWriteBPS, []byte(disktest.Number(l.t, l.loop)+" "+value), 0); err != nil {
		l.t.Error(err)
	}
}

// has is checked of the root group.
func (l *deviceLab) has(when, want string) {
	l.t.Helper()
	b, err := os.ReadFile(rootWriteBPS)
	got := ""
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, disktest.Number(l.t, l.loop)+" "); ok {
			got = strings.TrimSpace(v)
		}
	}
	if err != nil || got != want {
		l.t.Errorf("%s: the root group has %q, %v, want %q", when, got, err, want)
	}
}

// set is plimsoll limit set cgroup:GROUP --device-wide --write-bps, and 0 is limit clear.
func (l *deviceLab) set(bps int64) {
	l.t.Helper()
	if err := l.trySet(bps); err != nil {
		l.t.Fatal(err)
	}
}

// trySet is set where that may be refused.
func (l *deviceLab) trySet(bps int64) error {
	l.t.Helper()
	r, err := target.Parse("cgroup:" + strings.TrimPrefix(string(l.group), "/sys/fs/cgroup/blkio"))
	if err != nil {
		l.t.Fatal(err)
	}
	c := limit.Change{Set: limit.Limits{WriteBPS: bps}}
	if bps == 0 {
		c = limit.Clear()
	}
	s, err := l.holder.Scope(l.t.Context(), r, hold.Where{Device: l.loop, DeviceWide: bps > 0}, true)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.limits.Change(l.t.Context(), s, c, false, func() ([]hold.Done, error) { return l.holder.Apply(l.t.Context(), s, c) })
	return err
}

// noted is checked of what is noted of the root group, by whose it is.
func (l *deviceLab) noted(when string, want ...string) {
	l.t.Helper()
	all, err := l.limits.List()
	if err != nil || len(all) != len(want) {
		l.t.Errorf("%s: noted %+v, %v, want those of %q", when, all, err, want)
		return
	}
	for i, w := range want {
		if !strings.HasPrefix(all[i].For, w) {
			l.t.Errorf("%s: noted for %s, want %s", when, all[i].For, w)
		}
	}
}

// TestHoldMeanwhile: a device that a trial limits has no second owner until the trial's end, and then nothing is left. What another program
// has put there stays.
func TestHoldMeanwhile(t *testing.T) {
	l := newDeviceLab(t)
	for range 2 {
		h, err := HoldAll(t.Context(), []Session{sessionOn(l.dir, l.pid)}, l.state)
		if err != nil {
			t.Fatal(err)
		}
		l.has("begun", "1048576")
		var taken *refusal.Error
		if err := l.trySet(3 << 20); !errors.As(err, &taken) || !strings.Contains(taken.Why, "for plimsoll run (t) (") {
			t.Errorf("set during a trial: %v, want a refusal with the run", err)
		}
		l.set(0) // Another target has none there.
		l.has("during", "1048576")
		l.noted("during", "plimsoll run (t)")
		if err := h.Release(); err != nil {
			t.Error(err)
		}
		l.has("after", "")
		l.noted("after")
	}
	h, err := HoldAll(t.Context(), []Session{sessionOn(l.dir, l.pid)}, l.state)
	if err != nil {
		t.Fatal(err)
	}
	l.put("2097152")
	if err := h.Release(); err != nil {
		t.Error(err)
	}
	l.has("another program's", "2097152")
	l.put("0")
	if left := journaltest.Left(t, l.state); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// TestHoldBefore: what is in the root group before a trial is left as it is, and the refusal names its owner.
func TestHoldBefore(t *testing.T) {
	l := newDeviceLab(t)
	s := sessionOn(l.dir, l.pid)
	refused := func(want string) {
		t.Helper()
		var u *refusal.Error
		if err := CheckHold(s, l.state); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckHold = %v, want %q", err, want)
		}
		if _, err := HoldAll(t.Context(), []Session{s}, l.state); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("HoldAll = %v, want %q", err, want)
		}
	}
	l.set(3 << 20)
	refused("in the root group, for cgroup:/")
	l.has("a target's", "3145728")
	l.noted("a target's", "cgroup:/")
	l.set(0)
	l.put("2097152")
	refused("set by another program")
	l.has("another program's", "2097152")
	l.put("0")
}

// TestHoldKilled: a sweep removes what a killed plimsoll has left in the root group, and nothing that was set there since.
func TestHoldKilled(t *testing.T) {
	l := newDeviceLab(t)
	for _, x := range []struct {
		name        string
		sets        []int64
		left, after string
	}{
		{"nothing", nil, "1048576", ""},
		{"the same", []int64{1 << 20}, "1048576", "1048576"},
		{"another", []int64{3 << 20}, "3145728", "3145728"},
		{"cleared", []int64{3 << 20, 0}, "", ""}, // Nobody's comes back.
	} {
		l.kill()
		for _, bps := range x.sets {
			l.set(bps)
		}
		l.has(x.name+", left", x.left)
		if err := l.sweep(); err != nil {
			t.Error(err)
		}
		l.has(x.name+", swept", x.after)
		l.set(0)
		l.has(x.name+", cleared", "")
		l.noted(x.name)
	}
	// A new trial takes the place of a killed one.
	l.kill()
	h, err := HoldAll(t.Context(), []Session{sessionOn(l.dir, l.pid)}, l.state)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.sweep(), h.Release()); err != nil {
		t.Error(err)
	}
	l.has("released", "")
	l.noted("released")
}

// TestHoldOfAnotherDisk: a sweep leaves a number alone that is another disk's by now, says what it still has, and takes that back when
// the disk is there again, or the device is empty.
func TestHoldOfAnotherDisk(t *testing.T) {
	l := newDeviceLab(t)
	l.kill()
	if err := disktest.Unmount(l.dir); err != nil {
		t.Fatal(err)
	}
	disktest.Reattach(t, l.loop, l.images[1])
	for range 2 {
		if err := l.sweep(); err == nil || !strings.Contains(err.Error(), "the root group still has write_bps=1MiB") || !strings.Contains(err.Error(), "plimsoll limit clear --device-wide --device "+l.loop) {
			t.Errorf("sweep = %v", err)
		}
		l.has("another disk", "1048576")
		l.noted("another disk", "plimsoll run")
	}
	disktest.Reattach(t, l.loop, l.images[0])
	if err := l.sweep(); err != nil {
		t.Error(err)
	}
	l.has("the disk again", "")

	if err := os.Mkdir(l.dir+"/again", 0o700); err != nil {
		t.Fatal(err)
	}
	disktest.MountAt(t, l.loop, l.dir+"/again", "ext4", unix.MS_RDONLY, "")
	l.dir += "/again"
	l.kill()
	if err := disktest.Unmount(l.dir); err != nil {
		t.Fatal(err)
	}
	disktest.Run(t, "losetup", "--detach", l.loop)
	if err := l.sweep(); err != nil {
		t.Error(err)
	}
	l.has("no disk", "")
	l.noted("no disk")
}

// sweep is what the next plimsoll run does.
func (l *deviceLab) sweep() error {
	l.t.Helper()
	if l.next == nil {
		l.next = l.holder.DeviceLimits(l.state)
	}
	_, err := l.next.Sweep(l.t.Context())
	return err
}

// killedHold names the variables of a plimsoll that is killed while its limits are in force.
const killedHold = "PLIMSOLL_TEST_KILLED_HOLD"

// kill has another process hold its limits, and kills it.
func (l *deviceLab) kill() {
	l.t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledHold$")
	cmd.Env = append(os.Environ(), killedHold+"="+strings.Join([]string{l.state, l.dir, strconv.Itoa(l.pid)}, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil || line != "held\n" {
		l.t.Fatalf("the other plimsoll: %q, %v", line, err)
	}
}

// TestKilledHold is that process.
func TestKilledHold(t *testing.T) {
	args := strings.Split(os.Getenv(killedHold), "\n")
	if len(args) != 3 {
		return // It is for kill alone.
	}
	pid, err := strconv.Atoi(args[2])
	if err == nil {
		_, err = HoldAll(context.Background(), []Session{sessionOn(args[1], pid)}, args[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("held\n")
	time.Sleep(time.Hour)
}
