package disktest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/ownertest"
)

// bePrey makes TestPrey make its things and wait to be killed.
const bePrey = "PLIMSOLL_TEST_PREY"

// TestPrey is the process that TestKilled kills.
func TestPrey(t *testing.T) {
	if os.Getenv(bePrey) == "" {
		return // TestKilled starts it.
	}
	_, disk := Disk(t, Options{Memory: true})
	overlay := RelativeOverlay(t)
	group := NewBlkioGroup(t)
	group.Run(t, "sleep", "600")
	if err := os.Mkdir(filepath.Join(string(group), "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal([]string{disk, overlay, string(group)})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("made " + string(line) + "\n")
	select {}
}

// prey starts a process that has made a disk, an overlay and a group with a process in it, and returns their paths.
func prey(t *testing.T) (cmd *exec.Cmd, made []string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^TestPrey$")
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
		if line, ok := strings.CutPrefix(lines.Text(), "made "); ok {
			if err := json.Unmarshal([]byte(line), &made); err != nil {
				t.Fatal(err)
			}
			return cmd, made
		}
	}
	t.Skip("needs a loop device and the blkio controller")
	return nil, nil
}

// TestKilled: the next process removes the things of a killed one; those of a living process stay.
func TestKilled(t *testing.T) {
	needRoot(t, "mounts a file system")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(ownertest.EnvFolder, os.TempDir()) // For the notes of these processes only.
	t.Cleanup(func() {
		notes.Sweep(t)
		if left := leaktest.Find(os.TempDir()); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	dead, left := prey(t)
	_, living := prey(t)
	before := leaktest.Find(living...)
	if len(before) < 3 {
		t.Fatalf("a living process has %v", before)
	}
	dead.Process.Kill()
	dead.Wait()
	if there := leaktest.Find(left...); len(there) < 3 {
		t.Fatalf("a killed process left %v", there)
	}
	notes.Sweep(t)
	if there := leaktest.Find(left...); len(there) > 0 {
		t.Errorf("a killed process's are still there: %v", there)
	}
	if after := leaktest.Find(living...); len(after) != len(before) {
		t.Errorf("a living process had %v, and has %v", before, after)
	}
}
