package hold

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/device"
	"plimsoll/internal/disktest"
	"plimsoll/internal/limit/target"
)

// TestLooseMoved: a container's process that was moved out of its group is found, with the limits that it has there.
func TestLooseMoved(t *testing.T) {
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
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
	if err != nil || len(list) != 1 || filepath.Base(list[0].Group.Path) != filepath.Base(string(other)) || list[0].Processes != 1 {
		t.Errorf("%+v, %v; want one process in %s", list, err, other)
	}
}
