package vm

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/host/procfs"
)

// TestAddFamily: what a process had started before it was added is added too, also what one of those starts meanwhile, each once. One that
// has ended is none.
func TestAddFamily(t *testing.T) {
	p := sleeping(t, "sh -c 'sleep 1000 & wait' & sleep 1000 & read -r go; sleep 1000 & echo done; wait")
	root := p.Cmd.Process.Pid
	for deadline := time.Now().Add(time.Minute); len(procfs.Descendants("/proc", root)) != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it has started %v", procfs.Descendants("/proc", root))
		}
	}
	var added []int
	if err := addFamily(root, func(pid int) error {
		if added = append(added, pid); len(added) == 4 {
			// All that there were: it starts another.
			if _, err := p.Stdin().Write([]byte("\n")); err != nil {
				return err
			}
			_, err := p.Stdout().Read(make([]byte, 10))
			return err
		}
		if len(added) == 2 {
			return syscall.ESRCH
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := append([]int{root}, procfs.Descendants("/proc", root)...)
	slices.Sort(added)
	slices.Sort(want)
	if len(want) != 5 || !slices.Equal(added, want) {
		t.Errorf("added are %v, want %v", added, want)
	}
	no := errors.New("no")
	if err := addFamily(root, func(int) error { return no }); !errors.Is(err, no) {
		t.Errorf("addFamily() = %v, want %v", err, no)
	}
}
