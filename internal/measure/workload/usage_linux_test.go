package workload

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestUsageIsNotTheParents: the kernel hands the parent's peak memory on at exec, in
// ru_maxrss. A worker must not show the size of the program that started it.
func TestUsageIsNotTheParents(t *testing.T) {
	const env, big = "WORKLOAD_TEST_USAGE", 256 << 20
	if os.Getenv(env) != "" {
		os.Stdout.WriteString("peak=" + strconv.FormatInt(takeSnapshot(false).usage.MaxRSS, 10) + "\n")
		return
	}
	p := make([]byte, big)
	for i := 0; i < len(p); i += 4096 {
		p[i] = 1 // A page that isn't touched isn't there.
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestUsageIsNotTheParents$")
	cmd.Env = append(os.Environ(), env+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if p[big-4096] != 1 {
		t.Fatal("the memory is gone")
	}
	_, rest, _ := strings.Cut(string(out), "peak=")
	line, _, _ := strings.Cut(rest, "\n")
	peak, err := strconv.ParseInt(line, 10, 64)
	if err != nil || peak <= 0 || peak > big/2 {
		t.Errorf("the child says that it took %q bytes, %v; its parent took %d", line, err, big)
	}
}
