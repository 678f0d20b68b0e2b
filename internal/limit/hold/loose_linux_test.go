package hold

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/device"
	"plimsoll/internal/disktest"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/target"
)

// TestLooseMoved: a container's process that was moved out of its group is found, with the limits that it has there.
func TestLooseMoved(t *testing.T) {
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	list := movedTo(t, own, other)
	if len(list) != 1 || filepath.Base(list[0].Group.Path) != filepath.Base(string(other)) || list[0].Processes != 1 {
		t.Errorf("%+v; want one process in %s", list, other)
	}
}

// TestLieMovedToRoot: a container's process was moved to the root group, which version 2 holds to nothing.
func TestLieMovedToRoot(t *testing.T) {
	list := movedTo(t, disktest.NewUnifiedGroup(t, "io"), "/sys/fs/cgroup")
	if len(list) != 1 || !list[0].Group.IsRoot() || list[0].Processes != 1 || !list[0].Lacks(cgroup.Device{Major: 7}, limit.WriteBPS, 1<<30) {
		t.Errorf("%+v; want one process in the root group, without limits", list)
	}
}

// movedTo lists what is loose of a container whose first process is in own, and another in a group that it was moved to.
func movedTo(t *testing.T, own, other disktest.Group) []Loose {
	t.Helper()
	h, err := New(device.Host(), target.New(target.Host()))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", fmt.Sprintf("read go; (echo 0 > %s/cgroup.procs && echo moved && exec sleep 60) & read end; kill $!", other))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if err := own.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	groups, err := h.Groups.Find(cmd.Process.Pid, "", "")
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.Loose(Part{Name: "web", Groups: groups, Target: &target.Target{Kind: target.Container, PID: cmd.Process.Pid}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
