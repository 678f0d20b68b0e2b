package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// boundTasks counts the process's threads that may run on processor c only.
// If living, it counts only the threads of a running job.
func boundTasks(t *testing.T, c int, living bool) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f == fmt.Sprintf("/proc/self/task/%d/status", os.Getpid()) && !living {
			continue // Go never ends its first thread; it parks it.
		}
		p, _ := os.ReadFile(f) // the thread may have ended
		if strings.Contains(string(p), fmt.Sprintf("Cpus_allowed_list:\t%d\n", c)) {
			n++
		}
	}
	return n
}

func TestThreadsRunWhereTheyMay(t *testing.T) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	last := 0
	for c := range 1024 {
		if may.IsSet(c) {
			last = c
		}
	}
	j := Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, NumJobs: 2, CPUs: []int{last}, SplitCPUs: true, Runtime: 1}
	r, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	if n := boundTasks(t, last, true); n != 2 && may.Count() > 1 {
		t.Errorf("%d threads may run on processor %d only, want 2", n, last)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(Job{RW: RandRead, Size: 1 << 20, IOEngine: Null, CPUs: []int{1023}}); err == nil || !strings.Contains(err.Error(), "cpus_allowed") {
		t.Errorf("a processor that isn't there: %v", err)
	}
	// A thread ends a little after its result.
	for range 100 {
		if boundTasks(t, last, false) == 0 || may.Count() == 1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("bound threads are left after the run")
}

// TestSplitWithoutAList: jobs are spread over the processors that the process may use, and the threads of one job stay together.
func TestSplitWithoutAList(t *testing.T) {
	cpus, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) < 2 {
		t.Skip("needs two processors")
	}
	j := Job{RW: RandRead, BS: 4096, Filename: written(t, 1<<20), IOEngine: PSync, IODepth: 3, NumJobs: 2, SplitCPUs: true, SplitFrom: len(cpus) - 1, Runtime: 1}
	before := [2]int{boundTasks(t, cpus[len(cpus)-1], true), boundTasks(t, cpus[0], true)}
	prepare(t, j)
	if a, b := boundTasks(t, cpus[len(cpus)-1], true)-before[0], boundTasks(t, cpus[0], true)-before[1]; a != 3 || b != 3 {
		t.Errorf("%d and %d threads are bound to the last and the first processor, want 3 and 3", a, b)
	}
}
