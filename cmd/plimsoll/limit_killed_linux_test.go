package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/disktest"
)

// TestLimitKilled: what a set that is killed between two groups leaves is mended by the same set again, and by clear, as the manual says.
func TestLimitKilled(t *testing.T) {
	l := newBadLab(t)
	number := disktest.Number(t, l.loop)
	var groups []string
	for i := range 500 {
		dir := filepath.Join(string(l.group), fmt.Sprint("below-", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(dir) })
		groups = append(groups, dir)
	}
	// limited counts the groups with a limit.
	limited := func(value string) (n int) {
		for _, g := range groups {
			b, err := os.ReadFile(filepath.Join(g, "blkio.throttle.write_bps_device"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(string(b)) == number+" "+value {
				n++
			}
		}
		return n
	}
	set := []string{"set", l.name, "--device", l.loop, "--write-bps", "3MiB"}
	cmd := exec.Command(os.Args[0], append(append([]string{"limit"}, set...), "--state", l.state)...)
	cmd.Env = append(os.Environ(), asPlimsoll+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The group itself is written before those below it.
	for end := time.Now().Add(time.Minute); !strings.Contains(l.kernel(t), "3145728") && time.Now().Before(end); {
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Logf("%d of %d groups were limited when it was killed", limited("3145728"), len(groups))
	l.do(t, exitDone, set...)
	if n := limited("3145728"); n != len(groups) {
		t.Errorf("after the same again %d of %d groups are limited", n, len(groups))
	}
	if text := l.do(t, exitDone, set...); !strings.Contains(text, "unchanged") {
		t.Errorf("a third time: %s", text)
	}
	l.do(t, exitDone, "clear", l.name)
	if n := limited("3145728"); n != 0 || l.kernel(t) != "|||" {
		t.Errorf("after clear %d groups are limited, and the kernel has %q", n, l.kernel(t))
	}
}
