package hold

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// TestStraysMoved: a container's process that was moved out of its group is found, with the limits that it has there.
func TestStraysMoved(t *testing.T) {
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	wantOutside(t, movedTo(t, own, other), other)
}

// wantOutside fails unless a list is of one process in a group outside.
func wantOutside(t *testing.T, list []Stray, other disktest.Group) {
	t.Helper()
	if len(list) != 1 {
		t.Fatalf("%+v; want one group", list)
	}
	s := list[0]
	if path := s.Group.Path; filepath.Base(path) != filepath.Base(string(other)) {
		t.Errorf("the group is %s, want %s", path, other)
	}
	if s.Processes != 1 {
		t.Errorf("%d processes, want 1", s.Processes)
	}
	if !s.Outside {
		t.Errorf("%+v is not outside", s)
	}
}

// TestLieMovedToRoot: a container's process was moved to the root group, which version 2 holds to nothing.
func TestLieMovedToRoot(t *testing.T) {
	list := movedTo(t, disktest.NewUnifiedGroup(t, "io"), "/sys/fs/cgroup")
	if len(list) != 1 {
		t.Fatalf("%+v; want one group", list)
	}
	s := list[0]
	if !s.Group.IsRoot() {
		t.Errorf("the group is %s, want the root group", s.Group.Path)
	}
	if s.Processes != 1 {
		t.Errorf("%d processes, want 1", s.Processes)
	}
	if !s.Lacks(device.Number{Major: 7}, limit.WriteBPS, 1<<30) {
		t.Errorf("the limits there are %+v, want none", s.Devices)
	}
}

// movedTo lists what is loose of a container whose first process is in own, and another in a group that it was moved to.
func movedTo(t *testing.T, own, other disktest.Group) []Stray {
	t.Helper()
	h, err := New(device.Host(), target.New(target.Host(nil)))
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
	list, err := h.strays(GroupSet{Name: "web", Groups: groups, Target: &target.Target{Kind: target.Container, PID: cmd.Process.Pid}}, procfs.Look("/proc"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// loose lists what is loose of a process whose own groups are at a path.
func loose(t *testing.T, own disktest.Group, of target.Target) []Stray {
	t.Helper()
	h, err := New(device.Host(), target.New(target.Host(nil)))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := h.Groups.At(string(own))
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.strays(GroupSet{Name: "web", Groups: groups, Target: &of}, procfs.Look("/proc"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLieMovedExec: a process that an engine's exec has put into the container, so that it is no child of the first one, was moved.
func TestLieMovedExec(t *testing.T) {
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	pid := own.RunApart(t, "sleep", "60").Process.Pid
	// By a program: a thread of this one that Go can't end, such as the first, would stay in the namespace.
	inside := exec.Command("nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", pid), "sleep", "60")
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inside.Process.Kill()
		inside.Wait()
	})
	if err := other.Add(inside.Process.Pid); err != nil {
		t.Fatal(err)
	}
	mounts := func(pid int) string {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for end := time.Now().Add(time.Minute); mounts(inside.Process.Pid) != mounts(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nsenter has not entered the namespace")
		}
	}
	wantOutside(t, loose(t, own, target.Target{Kind: target.Container, PID: pid}), other)
}

// TestLieMovedThread: a thread of a process was moved, which version 1 allows.
func TestLieMovedThread(t *testing.T) {
	own, other := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	moved, end := make(chan error, 2), make(chan bool)
	go func() {
		runtime.LockOSThread()
		thread := strconv.Itoa(unix.Gettid())
		moved <- other.Put("tasks", thread)
		<-end
		moved <- disktest.Group(filepath.Dir(string(other))).Put("tasks", thread)
	}()
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	list := loose(t, own, target.Target{Kind: target.Process, PID: os.Getpid()})
	close(end)
	if err := <-moved; err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list, func(l Stray) bool {
		return filepath.Base(l.Group.Path) == filepath.Base(string(other)) && l.Processes == 1
	}) {
		t.Errorf("%+v; want one process in %s", list, other)
	}
}

// TestLieZombies: what has ended and was not waited for is shown in the root group by version 1, as if it had been moved there.
func TestLieZombies(t *testing.T) {
	own := disktest.NewBlkioGroup(t)
	pid := own.RunApart(t, "sh", "-c", "true & true & exec sleep 60").Process.Pid
	zombies := func() (n int) {
		for _, p := range procfs.Descendants("/proc", pid) {
			if _, err := procfs.Running("/proc", p); err != nil {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(time.Minute); zombies() < 2 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if n := zombies(); n != 2 {
		t.Fatalf("%d zombies", n)
	}
	if list := loose(t, own, target.Target{Kind: target.Container, PID: pid}); len(list) != 0 {
		t.Errorf("%+v; want nothing: they do nothing any more", list)
	}
}
