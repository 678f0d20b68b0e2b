package dockertest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"

	"plimsoll/internal/testkit/ownertest"
)

// bePrey makes TestPrey start a containerd and wait for its end.
const bePrey = "PLIMSOLL_TEST_PREY"

// TestPrey is the process that TestKilledDaemon kills.
func TestPrey(t *testing.T) {
	if os.Getenv(bePrey) == "" {
		return // TestKilledDaemon starts it.
	}
	d := Containerd(t)
	os.Stdout.WriteString("made " + d.Dir + "\n")
	select {}
}

// prey starts a process with a containerd, and returns containerd's folder.
func prey(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPrey$")
	cmd.Env = append(os.Environ(), bePrey+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "made "); ok {
			return cmd, dir
		}
	}
	t.Fatal("no containerd was started")
	return nil, ""
}

// TestKilledDaemon: the next process that starts a daemon removes that of a killed process, and not that of a living one.
func TestKilledDaemon(t *testing.T) {
	Program(t, "containerd")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(ownertest.EnvFolder, os.TempDir()) // The sweep sees the notes of these processes only.
	t.Cleanup(func() { notes.Sweep(t) })        // The living one is killed at the end.
	dead, left := prey(t)
	_, living := prey(t)
	dead.Process.Kill()
	dead.Wait()
	if _, err := os.Stat(left); err != nil {
		t.Fatal(err)
	}
	notes.Sweep(t)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s of the killed process: %v, want it gone", left, err)
	}
	if ms, err := mountinfo.GetMounts(mountinfo.PrefixFilter(left)); err != nil || len(ms) > 0 {
		t.Errorf("mounts %v, %v; want none", ms, err)
	}
	if pids := pidsNaming(left, isDaemon); len(pids) > 0 {
		t.Errorf("the daemon %v goes on", pids)
	}
	if pids := pidsNaming(living, isDaemon); len(pids) != 1 {
		t.Errorf("daemons of the living process: %v, want one", pids)
	}
	if ms, err := mountinfo.GetMounts(mountinfo.PrefixFilter(living)); err != nil || len(ms) == 0 {
		t.Errorf("mounts of the living process: %v, %v; want some", ms, err)
	}
}
