package engine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// eventually waits until what is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a minute later it is still not so that %s", what)
		}
	}
}

// held is the processes of a group.
func held(t *testing.T, g disktest.Group) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(g), "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestInsideThrottled: a trial that waits for a limit nearly for ever can be broken off: the session ends, says what is
// left, and leaves the group to its container; the worker removes its folder when it is let through.
func TestInsideThrottled(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	loop, root := disktest.Disk(t, disktest.Options{Kind: "ext4", Size: 64 << 20, Direct: true, Memory: true})
	limit := func(value string) {
		t.Helper()
		if err := group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" "+value); err != nil {
			t.Fatal(err)
		}
	}
	s, err := engine.OpenInside(t.Context(), t.TempDir(), workertest.Source(t), engine.Inside{ID: "t", Root: root, Dir: "/", Groups: []string{string(group)}})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		limit("0") // Else nothing could be unmounted.
		if !closed {
			s.Close(context.Background())
		}
	}()
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	// Only now: the worker tries what works there, by writing, before it says hello.
	limit("2")
	ctx, cancel := context.WithCancel(t.Context())
	prepared := make(chan error, 1)
	spec := workload.Spec{Name: "w", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 64 << 10, Size: 4 << 20, Direct: true}}
	go func() { prepared <- a.Prepare(ctx, "1", spec) }()
	// It waits in the kernel, where nothing ends it; for a journal it does so for a moment only.
	times := map[string]int{}
	eventually(t, "the trial waits for the disk", func() bool {
		for _, pid := range strings.Fields(held(t, group)) {
			tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/stat")
			for _, task := range tasks {
				if b, _ := os.ReadFile(task); strings.Contains(string(b), ") D ") {
					times[task]++
				} else {
					times[task] = 0
				}
				if times[task] > 100 {
					return true
				}
			}
		}
		return false
	})
	cancel()
	if err := <-prepared; err == nil {
		t.Error("4 MiB were written at 2 bytes a second")
	}
	ending, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Close(ending) }()
	select {
	case err := <-ended:
		closed = true
		if err == nil || !strings.Contains(err.Error(), "still waits for the disk, or for a limit") {
			t.Errorf("Close: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for the limit")
	}
	if got := held(t, group); got != "" {
		t.Errorf("the group still holds %s", got)
	}
	limit("0")
	eventually(t, "the worker has removed its folder", func() bool { return !strings.Contains(list(t, root), "plimsoll") })
}

// TestInsideContainerEnds: the worker leaves the groups of a container that ends, so that its runtime can remove them;
// what the runtime gave up on, the session removes, and nothing else.
func TestInsideContainerEnds(t *testing.T) {
	for _, row := range []string{"left", "removed", "made anew", "in use"} {
		t.Run(row, func(t *testing.T) {
			group := disktest.NewBlkioGroup(t)
			container := exec.Command("sleep", "600")
			if err := container.Start(); err != nil {
				t.Fatal(err)
			}
			defer container.Wait()
			defer container.Process.Kill()
			ended := make(chan bool)
			s, err := engine.OpenInside(t.Context(), t.TempDir(), workertest.Source(t), engine.Inside{
				ID: "t", Root: t.TempDir(), Dir: "/", Groups: []string{string(group)}, PID: container.Process.Pid, Ended: func() { close(ended) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(context.Background())
			a, err := agent.Open(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			spec := workload.Spec{Name: "w", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 4 << 10, Size: 1 << 20, Runtime: time.Hour}}
			if err := a.Prepare(t.Context(), "1", spec); err != nil {
				t.Fatal(err)
			}
			if err := a.Start("1"); err != nil {
				t.Fatal(err)
			}
			container.Process.Kill()
			<-ended
			if got := held(t, group); got != "" {
				t.Errorf("the container has ended, and its group holds %s", got)
			}
			switch row {
			case "removed", "made anew":
				// A process that has left may be counted a moment longer.
				eventually(t, "the group can be removed", func() bool { return unix.Rmdir(string(group)) == nil })
				if row == "made anew" {
					if err := os.Mkdir(string(group), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			case "in use":
				other := exec.Command("sleep", "600")
				if err := other.Start(); err != nil {
					t.Fatal(err)
				}
				defer other.Wait()
				defer other.Process.Kill()
				if err := group.Add(other.Process.Pid); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Close(context.Background()); err != nil {
				t.Error(err)
			}
			_, err = os.Stat(string(group))
			if want := row == "made anew" || row == "in use"; (err == nil) != want {
				t.Errorf("the group: %v, want it there: %t", err, want)
			}
		})
	}
}
