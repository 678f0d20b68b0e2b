package watch

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/treetest"
)

// columns are those of iostat -x. Rates depend on the interval, the others don't.
var (
	rateColumns  = []string{"r/s", "w/s", "d/s", "f/s", "rkB/s", "wkB/s", "dkB/s", "rrqm/s", "wrqm/s", "drqm/s", "aqu-sz", "util"}
	ratioColumns = []string{"rrqm", "wrqm", "drqm", "r_await", "w_await", "d_await", "f_await", "rareq-sz", "wareq-sz", "dareq-sz"}
)

// iostat runs sysstat's and returns the last figures of a device by column.
func iostat(t *testing.T, name string, args ...string) map[string]float64 {
	t.Helper()
	path, err := exec.LookPath("iostat")
	if err != nil {
		t.Skip("needs iostat: apt-get install sysstat")
	}
	cmd := exec.Command(path, append([]string{"-x", "-d", "-o", "JSON"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("iostat: %v", err)
	}
	var said struct {
		Sysstat struct {
			Hosts []struct {
				Statistics []struct {
					Disk []map[string]any `json:"disk"`
				} `json:"statistics"`
			} `json:"hosts"`
		} `json:"sysstat"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stats := said.Sysstat.Hosts[0].Statistics
	for _, d := range stats[len(stats)-1].Disk {
		if d["disk_device"] == name {
			figures := map[string]float64{}
			for k, v := range d {
				if f, ok := v.(float64); ok {
					figures[k] = f
				}
			}
			return figures
		}
	}
	t.Fatalf("iostat says nothing of %s: %s", name, out)
	return nil
}

// byColumn are a device's figures under iostat's names: what watch --json prints.
func byColumn(t *testing.T, u DiskUse) map[string]float64 {
	t.Helper()
	b, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{}
	for k, v := range all {
		if f, ok := v.(float64); ok {
			figures[k] = f
		}
	}
	return figures
}

// TestIostatFormulas: iostat and Plimsoll are given the same counters. iostat's first report is of the time since boot, so
// that the counters are made for that.
func TestIostatFormulas(t *testing.T) {
	uptime := func() float64 {
		b, err := os.ReadFile("/proc/uptime")
		if err != nil {
			t.Fatal(err)
		}
		ticks, err := parseUptime(string(b))
		if err != nil {
			t.Fatal(err)
		}
		return float64(ticks) / 100
	}
	up := uptime()
	// per is a counter that grows by so much a second.
	per := func(n float64) uint64 { return uint64(n * up) }
	numbers := []uint64{
		per(37), per(3), per(1000.5), per(123), per(211), per(20), per(80123), per(901), 3, per(357), per(1313), per(5), per(1), per(4096), per(12), per(9), per(33),
	}
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.FormatUint(n, 10))
	}
	// Milliseconds have 32 bits.
	if numbers[10] > math.MaxUint32 {
		t.Skip("needs a machine that was started less than a month ago")
	}
	root := treetest.Make(t, map[string]string{"block/sdz/stat": strings.Join(words, " ") + "\n"})
	said := iostat(t, "sdz", "-f", root)
	disks, err := parseDisks("65 144 sdz "+strings.Join(words, " ")+"\n", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	ours := byColumn(t, disks[0].since(Disk{}, up))
	for _, c := range append(append([]string{}, rateColumns...), ratioColumns...) {
		want, ok := said[c]
		got, has := ours[c]
		// iostat rounds to hundredths; the time since boot went on between.
		if off := math.Abs(got - want); !ok || !has || off > 0.0051+math.Abs(want)*1/up {
			t.Errorf("%s = %v (%t), want %v (%t), as iostat says", c, got, has, want, ok)
		}
		if want == 0 {
			t.Errorf("iostat's %s is 0, which shows nothing", c)
		}
	}
}

// TestIostat watches a loop device of the test's own beside iostat, while it is written and read.
func TestIostat(t *testing.T) {
	t.Parallel() // It waits for iostat, and looks at a disk of its own.
	dev, dir := disktest.Disk(t, disktest.Options{Direct: true})
	name := filepath.Base(dev)
	s, err := NewSampler(device.Host(), nil)
	if err != nil {
		t.Fatal(err)
	}
	find := func(i *Interval) DiskUse {
		for _, d := range i.Devices {
			if d.Name == name {
				return d
			}
		}
		t.Fatalf("%s is not among the devices", name)
		return DiskUse{}
	}
	// Both intervals begin before the I/O and end after it, so that what doesn't depend on their length is the same.
	unix.Sync()
	before, err := s.Sample(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan map[string]float64, 1)
	go func() { said <- iostat(t, name, "-y", name, "4", "1") }()
	time.Sleep(time.Second)
	file := filepath.Join(dir, "file")
	disktest.Run(t, "dd", "if=/dev/zero", "of="+file, "bs=64k", "count=100", "oflag=direct", "conv=fsync", "status=none")
	disktest.Run(t, "dd", "if="+file, "of=/dev/null", "bs=16k", "count=200", "iflag=direct", "status=none")
	theirs := <-said
	after, err := s.Sample(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	i, err := Between(before, after, s.Beneath)
	if err != nil {
		t.Fatal(err)
	}
	u := find(i)
	ours := byColumn(t, u)
	if u.Read.IOs < 200 || u.Write.IOs < 100 || theirs["r/s"] == 0 {
		t.Fatalf("too little was done: %+v; iostat: %v", u, theirs)
	}
	for _, c := range ratioColumns {
		if off := math.Abs(ours[c] - theirs[c]); off > 0.0051+theirs[c]*0.01 {
			t.Errorf("%s = %v, iostat says %v", c, ours[c], theirs[c])
		}
	}
	for _, c := range rateColumns {
		// iostat slept for 4 seconds, give or take a few hundredths, and rounds to hundredths.
		if sum, want := ours[c]*i.Seconds, theirs[c]*4; math.Abs(sum-want) > 0.04+want*0.03 {
			t.Errorf("%s: %v in all, iostat says %v", c, sum, want)
		}
	}
}
