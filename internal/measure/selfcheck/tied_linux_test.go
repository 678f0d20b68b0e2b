package selfcheck

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/procfs"
)

// beParent is set for a process that runs a program until it is killed.
const beParent = "PLIMSOLL_TEST_SELFCHECK_PARENT"

// TestProgramsEndWithUs: a program of selfcheck ends when selfcheck is killed. fio went on, and made its folder again after the sweep.
func TestProgramsEndWithUs(t *testing.T) {
	if os.Getenv(beParent) != "" {
		_, _ = output(exec.Command("sh", "-c", "echo $$ >&3; exec sleep 60 >/dev/null", "sh"))
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parent := exec.Command(os.Args[0], "-test.run=^TestProgramsEndWithUs$")
	parent.Env, parent.ExtraFiles = append(os.Environ(), beParent+"=1"), []*os.File{w}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	pid, bad := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || bad != nil {
		_ = parent.Process.Kill()
		t.Fatalf("the program says %q, %v", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := procfs.Running("/proc", pid); err != nil {
			return
		}
		if time.Now().After(end) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
			t.Fatalf("the program (process %d) goes on after selfcheck was killed", pid)
		}
	}
}
