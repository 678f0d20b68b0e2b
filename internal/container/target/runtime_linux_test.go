package target

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/leaktest"
)

// TestRuntimes finds containers that were made with a runtime alone. It runs with each runtime that works here.
func TestRuntimes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to run containers")
	}
	worked := 0
	for _, name := range []string{"runc", "crun"} {
		t.Run(name, func(t *testing.T) {
			leaktest.Check(t, ociName(""))
			r := newRuntime(t, name)
			if err := r.create(t, ociName("try"), ""); err != nil {
				if name == "crun" && strings.Contains(err.Error(), "hybrid mode not supported") {
					// This is crun before 1.9; TestCrunStatus tests its layout.
					t.Logf("crun refuses this host: %v", err)
					return
				}
				t.Fatal(err)
			}
			worked++
			opt := Options{Runc: []string{r.root}}
			if name == "crun" {
				opt = Options{Crun: []string{r.root}}
			}
			testRuntime(t, r, opt)
		})
	}
	if worked == 0 {
		t.Error("no runtime works here")
	}
}

func testRuntime(t *testing.T, r *runtimeLab, opt Options) {
	f := finder(t, opt)
	on := listen(t, f)
	on.next(Connected, "")
	id, grouped := ociName("web"), ociName("grouped")
	if err := r.create(t, id, ""); err != nil {
		t.Fatal(err)
	}
	// The container is reported when it is made; it is started later.
	e := on.next(Started, id)
	wantRunning(t, f, e.Target, e.Target.PID)
	r.command(t, "start", id)
	for _, s := range []string{id, "oci:" + id} {
		got := resolve(t, f, s)
		wantRunning(t, f, got, e.Target.PID)
		wantTold(t, s, got, told{Engine: OCI, ID: id, Name: id, Team: "blue"})
		if !slices.ContainsFunc(got.Mounts, func(m Mount) bool { return m.Destination == "/data" }) {
			t.Errorf("Resolve(%s): mounts %+v", s, got.Mounts)
		}
	}
	// A group whose name is not the container's.
	path := "/" + ociName("parent") + "/some/group"
	// When the runtime removes the container, it removes only the last group of the path.
	t.Cleanup(func() { removeEmptyGroups("/" + ociName("parent")) })
	if err := r.create(t, grouped, path); err != nil {
		t.Fatal(err)
	}
	r.command(t, "start", grouped)
	got := resolve(t, f, grouped)
	wantRunning(t, f, got, got.PID)
	for _, g := range got.Groups {
		if !strings.HasSuffix(g.Path, path) {
			t.Errorf("group %+v, want %s", g, path)
		}
	}
	testMovedInit(t, f, got)

	r.command(t, "kill", id, "KILL")
	on.next(Ended, id)
	wantErr[*NotRunningError](t, resolveErr(t, f, id), "container "+id, "(stopped)")
	wantErr[*GoneError](t, f.Alive(e.Target))
}

// testMovedInit: a container's group is found even if its first process moved itself to a group below.
func testMovedInit(t *testing.T, f *Finder, got Target) {
	for _, h := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		for _, g := range got.Groups {
			parent := filepath.Join(h, g.Path)
			if !slices.Contains(g.Controllers, filepath.Base(h)) && g.Version == 1 {
				continue
			}
			if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
				continue
			}
			below := filepath.Join(parent, "init.scope")
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Fatal(err)
			}
			move := func(to string) {
				if err := os.WriteFile(filepath.Join(to, "cgroup.procs"), fmt.Append(nil, got.PID), 0); err != nil {
					t.Fatal(err)
				}
			}
			move(below)
			groups, err := f.Groups(got)
			move(parent)
			os.Remove(below)
			if err != nil {
				t.Error(err)
			}
			own := func(o Group) bool { return o.Path == g.Path && !o.Shared && o.Version == g.Version }
			if !slices.ContainsFunc(groups, own) {
				t.Errorf("Groups() = %+v; want %s", groups, g.Path)
			}
			return
		}
	}
	t.Error("no group to move to")
}

// removeEmptyGroups removes a group and the groups below it, in every hierarchy.
func removeEmptyGroups(path string) {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*")
	for _, h := range append(roots, "/sys/fs/cgroup") {
		var dirs []string
		filepath.WalkDir(filepath.Join(h, path), func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return nil
		})
		for _, d := range slices.Backward(dirs) {
			os.Remove(d)
		}
	}
}

// TestProcess finds a process that is in no container.
func TestProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	f := finder(t, Options{})
	s := fmt.Sprintf("pid:%d", cmd.Process.Pid)
	got := resolve(t, f, s)
	if got.Kind != Process || got.Ref() != s {
		t.Errorf("Resolve(%s) is the %s %s", s, got.Kind, got.Ref())
	}
	if got.PID != cmd.Process.Pid || !got.Running {
		t.Errorf("Resolve(%s): process %d, running %v", s, got.PID, got.Running)
	}
	if len(got.Groups) == 0 {
		t.Errorf("Resolve(%s): no groups", s)
	}
	for _, g := range got.Groups {
		if !g.Shared || !strings.Contains("\n"+procsOf(g), fmt.Sprintf("\n%d\n", got.PID)) {
			t.Errorf("group %+v, want one that it is in, and that may be shared", g)
		}
	}
	cmd.Process.Kill()
	// A zombie has ended.
	for deadline := time.Now().Add(time.Minute); f.Alive(got) == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	wantErr[*GoneError](t, f.Alive(got), "process "+got.Name+" has ended")
	end()
	if err := resolveErr(t, f, s); !strings.Contains(err.Error(), "there is no process") {
		t.Error(err)
	}
}

// TestCgroup finds a group by its path and by its folder.
func TestCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make control groups")
	}
	leaktest.Check(t, ociName(""))
	name := "/" + ociName("group")
	made := 0
	t.Cleanup(func() { removeEmptyGroups(name) })
	var folder string
	for _, h := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(h, "cgroup.procs")); err == nil {
			if err := os.Mkdir(h+name, 0o755); err != nil {
				t.Fatal(err)
			}
			folder = h + name
			made++
		}
	}
	f := finder(t, Options{})
	for _, s := range []string{"cgroup:" + name, "cgroup:" + folder, "cgroup:" + folder + "/"} {
		got := resolve(t, f, s)
		if got.Kind != Cgroup || got.Name != name {
			t.Errorf("Resolve(%s) is the %s %s", s, got.Kind, got.Name)
		}
		if len(got.Groups) != made || got.Groups[0].Path != name {
			t.Errorf("Resolve(%s): groups %+v, want %d, %s first", s, got.Groups, made, name)
		}
	}
	for s, want := range map[string]string{
		"cgroup:" + name + "/below":        "there is no control group " + name + "/below",
		"cgroup:" + name + "/cgroup.procs": "a file in a group",
	} {
		if err := resolveErr(t, f, s); !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%s) = %v, want %q", s, err, want)
		}
	}
}
