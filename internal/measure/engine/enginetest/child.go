//go:build linux

package enginetest

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// childOf returns the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil {
			t.Fatal(err)
		}
		var child int
		if n, _ := fmt.Sscan(string(b), &child); n == 1 {
			return child
		}
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, task := range tasks {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			if n, _ := fmt.Sscan(string(b), &child); n == 1 {
				return child
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}
