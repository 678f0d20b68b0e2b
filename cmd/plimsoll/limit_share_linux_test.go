package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/disktest"
	"plimsoll/internal/limit/target"
)

// readers are processes in a group that read a file past the caches, over and over, until the test ends.
func readers(t *testing.T, group disktest.Group, file string, n int) {
	t.Helper()
	for range n {
		cmd := exec.Command("sh", "-c", `echo 0 > "$1/cgroup.procs" && while dd if="$2" of=/dev/null bs=256k iflag=direct status=none; do :; done`, "sh", string(group), file)
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
	l := limitLab{target.Options{}, t.TempDir()}
	loop, dir := fastDisk(t)
	number := disktest.Number(t, loop)
	heavy, light := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	for _, f := range []string{"heavy", "light"} {
		if err := os.WriteFile(filepath.Join(dir, f), make([]byte, 32<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disktest.Run(t, "sync", "-f", dir)
	disktest.KeepScheduler(t, loop)
	l.says(t, exitDone, []string{"set weight=800"}, "set", "cgroup:"+string(heavy), "--device", loop, "--weight", "800", "--enable-weights")
	l.says(t, exitDone, []string{"set weight=100"}, "set", "cgroup:"+string(light), "--device", loop, "--weight", "100", "--enable-weights")
	readers(t, heavy, filepath.Join(dir, "heavy"), 2)
	readers(t, light, filepath.Join(dir, "light"), 2)
	// share waits until both together were given so many bytes, and returns the heavier's part.
	share := func(bytes int64) (h, b int64) {
		h0, l0 := served(t, heavy, number), served(t, light, number)
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			h, b := served(t, heavy, number)-h0, served(t, light, number)-l0
			if h+b >= bytes {
				return h, b
			}
			if time.Now().After(end) {
				t.Fatalf("in a minute the groups read %d and %d bytes", h, b)
			}
		}
	}
	share(64 << 20) // Until all read.
	h, b := share(1 << 30)
	t.Logf("weights 800 and 100: %d and %d MiB, %.1f times", h>>20, b>>20, float64(h)/float64(b))
	// Equal weights, as a check of the test itself.
	l.says(t, exitDone, []string{"set weight=100"}, "set", "cgroup:"+string(heavy), "--device", loop, "--weight", "100")
	share(64 << 20)
	h1, b1 := share(1 << 30)
	t.Logf("weights 100 and 100: %d and %d MiB, %.1f times", h1>>20, b1>>20, float64(h1)/float64(b1))
	if float64(h) < 2*float64(b) || float64(h)/float64(b) < 1.5*float64(h1)/float64(b1) {
		t.Errorf("eight times the weight gave %.2f times the disk, and equal weights %.2f", float64(h)/float64(b), float64(h1)/float64(b1))
	}
}
