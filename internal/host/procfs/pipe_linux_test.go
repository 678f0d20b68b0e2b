package procfs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWaitsPipes: Waits reports the unread bytes of a process's pipes, and leaves them there.
func TestWaitsPipes(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo abc; exec sleep 600")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := in.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		lines = Waits("/proc", cmd.Process.Pid)
		if len(lines) == 1 && strings.HasPrefix(lines[0], "sleep 600 (process ") && strings.Contains(lines[0], ": 1 asleep in ") &&
			strings.HasSuffix(lines[0], "; 6 bytes to it are unread; 4 bytes from it are unread") {
			break
		}
	}
	if !strings.HasSuffix(strings.Join(lines, "\n"), "4 bytes from it are unread") {
		t.Errorf("Waits = %q", lines)
	}
	b := make([]byte, 10)
	if n, err := r.Read(b); n != 4 || err != nil {
		t.Errorf("read %q, %v from the pipe afterwards", b[:n], err)
	}
}
