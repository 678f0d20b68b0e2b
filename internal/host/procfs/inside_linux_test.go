package procfs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestLieSharedPIDs: the orphan of a container that was started with --pid container:x is a child of x's first process, and must not
// count as x's.
func TestLieSharedPIDs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	// first starts a command whose shell prints, in its first line, a process of the container.
	first := func(argv ...string) int {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		pid, _ := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid == 0 {
			t.Fatalf("%q, %v", line, err)
		}
		return pid
	}
	// Both containers see the host's /proc, so that they know their ids there.
	const own = "read pid rest < /proc/self/stat; echo $pid; "
	x := first("unshare", "--pid", "--fork", "--mount", "sh", "-c", own+"while :; do sleep 60; done")
	y := first("nsenter", fmt.Sprintf("--pid=/proc/%d/ns/pid", x), "unshare", "--mount", "sh", "-c", "(sleep 61 &) ; "+own+"while :; do sleep 60; done")
	all := Look("/proc")
	orphans := slices.DeleteFunc(slices.Clone(all.children[x]), func(p int) bool { return all.spaceOf(strconv.Itoa(p)) != all.spaceOf(strconv.Itoa(y)) })
	if len(orphans) != 1 {
		t.Fatalf("children of %d: %v, of which the other's: %v", x, all.children[x], orphans)
	}
	if got := all.Inside(x); slices.Contains(got, orphans[0]) || !slices.Contains(got, x) {
		t.Errorf("in the first: %v, with the orphan %d of the other", got, orphans[0])
	}
	if got := all.Inside(y); !slices.Contains(got, orphans[0]) || slices.Contains(got, x) {
		t.Errorf("in the other: %v, without its orphan %d, or with %d", got, orphans[0], x)
	}
}
