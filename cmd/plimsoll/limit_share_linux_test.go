package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// readers are processes in a group that read a file past the caches, over and over, until the test ends.
func readers(t *testing.T, group disktest.Group, file string, n int) {
	t.Helper()
	for range n {
		cmd := exec.Command("sh", "-c", `echo 0 > "$1/cgroup.procs" && while dd if="$2" of=/dev/null bs=1M iflag=direct status=none; do :; done`, "sh", string(group), file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		})
	}
}

// served is how many bytes of a device a group was given.
func served(t *testing.T, group disktest.Group, number string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(group), "blkio.throttle.io_service_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == number && f[1] == "Read" {
			n, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// TestLimitWeightShares: of two groups that both want all of a disk, the one with eight times the weight gets clearly more of
// it. How much more depends on what else the machine does: bfq shares out the disk's time, and not the CPUs'.
func TestLimitWeightShares(t *testing.T) {
	needBlkio(t)
	times := 1.0
	// An advantage of the first writer, or of one group, cancels out.
	for _, weights := range [][2]string{{"800", "100"}, {"100", "800"}} {
		t.Run(weights[0]+" and "+weights[1], func(t *testing.T) {
			got := shared(t, weights)
			ratio := float64(got[0]) / float64(got[1])
			if weights[0] == "100" {
				ratio = 1 / ratio
			}
			t.Logf("%d and %d MiB: eight times the weight, %.1f times the disk", got[0]>>20, got[1]>>20, ratio)
			times *= ratio
		})
	}
	if times = math.Sqrt(times); !(times > 2) {
		t.Errorf("eight times the weight gave %.2f times the disk, want 2 at least", times)
	}
}

// shared is what two groups with these weights read of a disk that both want.
func shared(t *testing.T, weights [2]string) (got [2]int64) {
	l := limitLab{target.Options{}, t.TempDir()}
	loop, dir := fastDisk(t)
	number := disktest.Number(t, loop)
	groups := [2]disktest.Group{disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)}
	disktest.KeepScheduler(t, loop)
	for i, g := range groups {
		file := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(file, make([]byte, 32<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		disktest.Run(t, "sync", file)
		l.says(t, exitDone, []string{"set weight=" + weights[i]}, "set", "cgroup:"+string(g), "--device", loop, "--weight", weights[i], "--enable-weights")
	}
	for i, g := range groups {
		readers(t, g, filepath.Join(dir, strconv.Itoa(i)), 2)
	}
	// reads waits until both together were given so many bytes.
	reads := func(bytes int64) (got [2]int64) {
		t.Helper()
		var before [2]int64
		for i, g := range groups {
			before[i] = served(t, g, number)
		}
		for end := time.Now().Add(time.Minute); got[0]+got[1] < bytes; time.Sleep(20 * time.Millisecond) {
			for i, g := range groups {
				got[i] = served(t, g, number) - before[i]
			}
			if time.Now().After(end) {
				t.Fatalf("in a minute the groups read %v bytes", got)
			}
		}
		return got
	}
	reads(128 << 20) // Until all do.
	return reads(2 << 30)
}
