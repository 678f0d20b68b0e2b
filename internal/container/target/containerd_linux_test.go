package target

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/dockertest"
)

// A containerdLab is a test's own containerd.
type containerdLab struct{ d *dockertest.Daemon }

func (l *containerdLab) ctr(t *testing.T, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.d.Command[0], append(slices.Clone(l.d.Command[1:]), words...)...)
	cmd.Env = l.d.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ctr %v: %v: %s", words, err, out)
	}
	return string(out)
}

// run runs the sleeper, and removes it at the end.
func (l *containerdLab) run(t *testing.T, id string, words ...string) {
	t.Helper()
	l.ctr(t, slices.Concat([]string{"run", "--detach", "--null-io", "--rootfs"}, words, []string{rootfs(t), id, "/sleeper"})...)
	t.Cleanup(func() {
		for _, words := range [][]string{{"tasks", "rm", "-f", id}, {"containers", "rm", id}} {
			cmd := exec.Command(l.d.Command[0], append(slices.Clone(l.d.Command[1:]), words...)...)
			cmd.Env = l.d.Env
			cmd.Run()
		}
	})
}

func (l *containerdLab) root() ContainerdRoot {
	return ContainerdRoot{State: l.d.ContainerdState(), Address: strings.TrimPrefix(l.d.Host, "unix://")}
}

// TestContainerd finds containers of containerd by its folders, and by its API the facts that only the daemon has.
func TestContainerd(t *testing.T) {
	t.Parallel()
	l := &containerdLab{dockertest.Containerd(t)}
	t.Run("Names", func(t *testing.T) { testContainerdNames(t, l) })
	t.Run("Events", func(t *testing.T) { testContainerdEvents(t, l) })
	t.Run("Pod", func(t *testing.T) { testContainerdPod(t, l) })
	t.Run("Down", func(t *testing.T) { testContainerdDown(t, l) })
}

func testContainerdNames(t *testing.T, l *containerdLab) {
	folder := t.TempDir()
	l.run(t, "web", "--label", "team=blue", "--label", "nerdctl/name=shop", "--mount", "type=bind,src="+folder+",dst=/data,options=rbind:rw")
	f := finder(t, Options{Containerd: []ContainerdRoot{l.root()}})
	pid, err := readPID(filepath.Join(l.d.ContainerdState(), taskFolder, l.d.Namespace(), "web", "init.pid"))
	if err != nil || pid == 0 {
		t.Fatal(pid, err)
	}
	for _, s := range []string{"shop", "web", "containerd:web", "containerd:" + l.d.Namespace() + "/web"} {
		got := resolve(t, f, s)
		wantRunning(t, f, got, pid)
		wantTold(t, s, got, told{Engine: Containerd, Namespace: l.d.Namespace(), ID: "web", Name: "shop", Team: "blue"})
		if m := wantMount(t, s, got, "/data"); m.Source != folder {
			t.Errorf("Resolve(%s): mount %+v, want the folder %s", s, m, folder)
		}
		if again := resolve(t, f, got.Ref()); again.PID != pid {
			t.Errorf("Resolve(%s) = %+v", got.Ref(), again)
		}
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "containerd:elsewhere/web"), "there is no container web of containerd")
	wantErr[*NotFoundError](t, resolveErr(t, f, "docker:web"))
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "web" {
		t.Errorf("List() = %+v, %v", all, err)
	}
	got := all[0]
	l.ctr(t, "tasks", "kill", "-s", "KILL", "web")
	for f.Alive(got) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	// containerd keeps the file with the process's number until the task is removed.
	wantErr[*NotRunningError](t, resolveErr(t, f, "web"), "container shop", "(stopped)", "ctr -n "+l.d.Namespace()+" task start web")
	wantErr[*GoneError](t, f.Alive(got))
	l.ctr(t, "tasks", "rm", "-f", "web")
	wantErr[*NotFoundError](t, resolveErr(t, f, "web"), "no container web")
}

// testContainerdEvents: a task is reported before its program runs, so it is never without limits.
func testContainerdEvents(t *testing.T, l *containerdLab) {
	f := finder(t, Options{Containerd: []ContainerdRoot{l.root()}})
	on := listen(t, f)
	on.next(Connected, "")
	l.run(t, "noisy", "--label", "team=red")
	e := on.next(Started, "noisy")
	wantRunning(t, f, e.Target, e.Target.PID)
	if e.Target.Labels["team"] != "red" || e.Target.Namespace != l.d.Namespace() || !strings.HasPrefix(e.Source, "containerd in ") {
		t.Errorf("event %+v", e)
	}
	l.ctr(t, "tasks", "kill", "-s", "KILL", "noisy")
	on.next(Ended, "noisy")
	l.ctr(t, "tasks", "rm", "-f", "noisy")
	l.ctr(t, "tasks", "start", "--detach", "--null-io", "noisy")
	again := on.next(Started, "noisy")
	if again.Target.PID == e.Target.PID {
		t.Errorf("event %+v, want another process", again)
	}
}

// testContainerdPod: a container of Kubernetes has the labels of its pod, which are the sandbox's. The annotations and labels are
// those of containerd's CRI plugin (internal/cri/annotations and labels).
func testContainerdPod(t *testing.T, l *containerdLab) {
	l.run(t, "pause", "--label", "io.cri-containerd.kind=sandbox", "--label", "app=shop", "--label", "io.kubernetes.pod.name=shop-1",
		"--annotation", "io.kubernetes.cri.container-type=sandbox")
	l.run(t, "main", "--label", "io.kubernetes.container.name=server",
		"--annotation", "io.kubernetes.cri.container-type=container", "--annotation", "io.kubernetes.cri.container-name=server",
		"--annotation", "io.kubernetes.cri.sandbox-id=pause", "--annotation", "io.kubernetes.cri.sandbox-name=shop-1",
		"--annotation", "io.kubernetes.cri.sandbox-namespace=default", "--annotation", "io.kubernetes.cri.image-name=registry/shop:1")
	f := finder(t, Options{Containerd: []ContainerdRoot{l.root()}})
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("List() = %+v, %v; want one without the sandbox", all, err)
	}
	got := all[0]
	if got.Name != "server" || got.Image != "registry/shop:1" {
		t.Errorf("the container is %s of %s, want server of registry/shop:1", got.Name, got.Image)
	}
	for key, want := range map[string]string{"app": "shop", "io.kubernetes.pod.name": "shop-1", "io.kubernetes.pod.namespace": "default", "io.kubernetes.container.name": "server"} {
		if is := got.Labels[key]; is != want {
			t.Errorf("label %s = %q, want %q", key, is, want)
		}
	}
	if p := resolve(t, f, "containerd:pause"); !p.Sandbox || p.PID == 0 {
		t.Errorf("the sandbox is %+v", p)
	}
}

// testContainerdDown: without the daemon the containers are found, and a note names the missing facts.
func testContainerdDown(t *testing.T, l *containerdLab) {
	l.run(t, "orphan", "--label", "team=blue")
	f := finder(t, Options{Containerd: []ContainerdRoot{l.root()}})
	l.d.Kill()
	t.Cleanup(func() { l.d.Restart(t) })
	got := resolve(t, f, "orphan")
	wantRunning(t, f, got, got.PID)
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "labels are not known") {
		t.Errorf("notes %q", got.Notes)
	}
	if err := os.Remove(strings.TrimPrefix(l.d.Host, "unix://")); err != nil {
		t.Fatal(err)
	}
	if got := resolve(t, f, "orphan"); len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "start containerd") {
		t.Errorf("notes %q", got.Notes)
	}
}
