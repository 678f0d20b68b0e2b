package load

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// threadsWith is how many threads of the process take memory by that policy, by the kernel's own word.
func threadsWith(t *testing.T, policy string) (n int) {
	t.Helper()
	maps, err := filepath.Glob("/proc/self/task/*/numa_maps")
	if err != nil || len(maps) == 0 {
		t.Fatalf("%d numa_maps, %v", len(maps), err)
	}
	by := regexp.MustCompile(`(?m)^[0-9a-f]+ ` + policy)
	for _, m := range maps {
		text, err := os.ReadFile(m)
		if err != nil && !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such process") {
			t.Fatal(err)
		}
		if by.Match(text) {
			n++
		}
	}
	return n
}

// The threads of a job take memory from the nodes that it names, run on those nodes' processors, and nothing of it stays behind.
func TestJobsMemoryNodes(t *testing.T) {
	for _, v := range []struct {
		policy string
		nodes  []int
		shows  string
	}{{MemBind, []int{0}, "bind:0 "}, {MemPrefer, []int{0}, "prefer[^:]*:0 "}, {MemInterleave, []int{AllNodes}, "interleave:0"}, {MemLocal, nil, "local "}} {
		before := threadsWith(t, v.shows)
		r, err := Prepare(Job{RW: RandWrite, Size: 1 << 20, IOEngine: Null, NumJobs: 2, Runtime: 10 * time.Millisecond, CPUNodes: []int{0}, MemPolicy: v.policy, MemNodes: v.nodes})
		if err != nil {
			t.Fatal(err)
		}
		if n := threadsWith(t, v.shows) - before; n != 2 {
			t.Errorf("%s: %d threads have it, want 2", v.policy, n)
		}
		allowed, err := allowedCPUs()
		if err != nil {
			t.Fatal(err)
		}
		of, err := kernelList("/sys/devices/system/node/node0/cpulist")
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.DeleteFunc(of, func(c int) bool { return !slices.Contains(allowed, c) }); !slices.Equal(r.Job().CPUs, want) {
			t.Errorf("processors %v, want %v", r.Job().CPUs, want)
		}
		if _, err := r.Start(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		// The kernel ends a thread a little after Go has.
		for end := time.Now().Add(time.Minute); threadsWith(t, v.shows) > before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: threads have it still", v.policy)
			}
		}
	}
	for _, j := range []Job{{CPUNodes: []int{1023}}, {MemPolicy: MemBind, MemNodes: []int{1023}}} {
		j.RW, j.Size, j.IOEngine = RandWrite, 1<<20, Null
		if r, err := Prepare(j); err == nil || !strings.Contains(err.Error(), "no such memory node") {
			t.Errorf("node 1023: %v", err)
			if err == nil {
				r.Close()
			}
		}
	}
}
