package volume

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// throttled makes the lab's disk one of this many I/Os per second, reads and writes each, for processes of the root group: a disk whose speed doesn't
// depend on the machine.
func (l *diskLab) throttled(iops int) {
	l.t.Helper()
	for _, file := range []string{"read", "write"} {
		path := "/sys/fs/cgroup/blkio/blkio.throttle." + file + "_iops_device"
		number := disktest.NodeNumber(l.t, l.disk)
		if err := os.WriteFile(path, []byte(fmt.Sprintf("%s %d", number, iops)), 0); err != nil {
			l.t.Skipf("needs the blkio controller of cgroup v1: %v", err)
		}
		l.t.Cleanup(func() {
			if err := os.WriteFile(path, []byte(number+" 0"), 0); err != nil {
				l.t.Error(err)
			}
		})
	}
}

// load reads or writes a file until the end of the test, in jobs threads, each at a depth.
func (l *diskLab) load(root, rw string, jobs, depth int) {
	l.t.Helper()
	if _, err := exec.LookPath("fio"); err != nil {
		l.t.Skip("needs fio: scripts/setup test")
	}
	cmd := exec.Command("fio", "--name=load", "--filename="+filepath.Join(root, "data"), "--size=48m", "--rw="+rw, "--bs=4k", "--direct=1",
		"--ioengine=libaio", "--thread", fmt.Sprintf("--numjobs=%d", jobs), fmt.Sprintf("--iodepth=%d", depth), "--time_based", "--runtime=600", "--norandommap", "--output=/dev/null")
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// laidOut writes the file that load uses.
func (l *diskLab) laidOut(root string) {
	l.t.Helper()
	disktest.Run(l.t, "dd", "if=/dev/zero", "of="+filepath.Join(root, "data"), "bs=1M", "count=48", "conv=fsync", "status=none")
}

// over returns the I/Os per second that devices do over a time.
func (l *diskLab) over(d time.Duration, nodes ...string) (rates []float64) {
	l.t.Helper()
	began, at := make([]counters, len(nodes)), time.Now()
	for i, n := range nodes {
		began[i], _ = countersOf(filepath.Base(n))
	}
	time.Sleep(d)
	took := time.Since(at).Seconds()
	for i, n := range nodes {
		c, ok := countersOf(filepath.Base(n))
		if !ok {
			l.t.Fatalf("%s has no counters", n)
		}
		rates = append(rates, float64(c.reads+c.writes-began[i].reads-began[i].writes)/took)
	}
	return rates
}

// served runs a Server until the end of the test or the call of stop.
func (l *diskLab) served() (stop func()) {
	l.t.Helper()
	s, err := l.Serve(l.t.Context(), func(line string) { l.t.Log(line) })
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
			if err := s.Close(); err != nil {
				l.t.Error(err)
			}
		}
	}
	l.t.Cleanup(stop)
	return stop
}

// TestGuard: with a guarantee of 1,000 and a neighbour at full load, the volume gets it, and the neighbour at least 80 % of the rest. Without a
// guard it starves, or the test shows nothing. A machine that is too busy for the disk's speed proves nothing either way.
func TestGuard(t *testing.T) {
	const disk = 4000
	l := newLab(t, disktest.Options{Size: 400 << 20})
	gold, goldNode := l.mounted("gold", map[string]string{"capacity": "80MiB", "iops.min": "1000"})
	loud, loudNode := l.mounted("loud", map[string]string{"capacity": "80MiB"})
	l.laidOut(gold)
	l.laidOut(loud)
	l.throttled(disk)
	l.load(loud, "randread", 4, 32)
	l.load(gold, "randread", 1, 2)
	time.Sleep(time.Second)
	alone := l.over(2*time.Second, goldNode, loudNode)
	stop := l.served()
	time.Sleep(4 * time.Second)
	kept := l.over(4*time.Second, goldNode, loudNode)
	t.Logf("without a guard %.0f, with one %.0f I/Os per second", alone, kept)
	if all := alone[0] + alone[1]; all < 0.9*disk || kept[0]+kept[1] < 0.9*disk {
		t.Skipf("the machine is too busy: %.0f and %.0f of %d I/Os per second", all, kept[0]+kept[1], disk)
	}
	if alone[0] > 900 {
		t.Errorf("without a guard the volume got %.0f: it wasn't starved", alone[0])
	}
	if kept[0] < 950 {
		t.Errorf("the guaranteed volume got %.0f, want 950 at least", kept[0])
	}
	if rest := disk - kept[0]; kept[1] < 0.8*rest {
		t.Errorf("the neighbour got %.0f, want 80 %% of %.0f at least", kept[1], rest)
	}
	// The end of the daemon ends what it lowered.
	stop()
	if has, left := l.has(loudNode), l.records(); !has.IsZero() || len(left) != 0 {
		t.Errorf("afterwards the neighbour has %q, and the records are %v", has, left)
	}
}

// TestGuardMixed: reads and writes together keep a maximum.
func TestGuardMixed(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	root, node := l.mounted("db", map[string]string{"capacity": "80MiB", "iops.max": "1000"})
	l.laidOut(root)
	l.load(root, "randread", 1, 8)
	l.load(root, "randwrite", 1, 8)
	time.Sleep(time.Second)
	without := l.over(2*time.Second, node)[0]
	l.served()
	time.Sleep(4 * time.Second)
	with := l.over(3*time.Second, node)[0]
	t.Logf("without a guard %.0f, with one %.0f I/Os per second", without, with)
	if with > 1100 {
		t.Errorf("reads and writes did %.0f together, want 1000", with)
	}
}

// TestLieKilledGuard plants a daemon that was killed while it held a neighbour back: the next look raises it.
func TestLieKilledGuard(t *testing.T) {
	l := newLab(t, disktest.Options{Size: 400 << 20})
	_, node := l.mounted("loud", map[string]string{"capacity": "32MiB", "iops.max": "500"})
	v, err := l.Get("loud")
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(l.Volumes)
	if err := g.look(); err != nil {
		t.Fatal(err)
	}
	if err := g.lower(t.Context(), g.guarded[v.Name], 100); err != nil {
		t.Fatal(err)
	}
	if has := l.has(node); has.WriteIOPS != 50 {
		t.Fatalf("the lie is not planted: %s has %q", node, has)
	}
	path := filepath.Join(l.Records, "journal/device-limit", url.PathEscape(disktest.NodeNumber(t, node))+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var entry map[string]any
	if err := json.Unmarshal(b, &entry); err != nil {
		t.Fatal(err)
	}
	entry["payload"].(map[string]any)["lowered"].(map[string]any)["start"] = 1
	if b, err = json.Marshal(entry); err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	done, err := l.again().HoldLimits(t.Context(), nil)
	if err != nil || len(done) == 0 {
		t.Errorf("HoldLimits = %q, %v", done, err)
	}
	if has, want := l.has(node), (limit.Limits{ReadIOPS: 500, WriteIOPS: 500}); has != want {
		t.Errorf("the neighbour has %q, want %q", has, want)
	}
}
