package target

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/testkit/dockertest"
)

// rootfs makes a container's root with the sleeper in it.
func rootfs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rootfs")
	for _, d := range []string{"", "proc", "dev", "sys", "tmp", "data"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sleeper"), dockertest.Sleeper(t), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An apiLab is a daemon with Docker's API, and an image with the sleeper.
type apiLab struct {
	d   *dockertest.Daemon
	api *client.Client
}

func newAPILab(t *testing.T, d *dockertest.Daemon) *apiLab {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dockertest.ImportSleeper(t, api)
	return &apiLab{d, api}
}

// options are those of a Finder that knows this daemon only.
func (l *apiLab) options() Options {
	return Options{Daemons: []dockerapi.Address{{Host: l.d.Host, Source: "the test"}}}
}

// create makes a container of the sleeper, and removes it at the end.
func (l *apiLab) create(t *testing.T, name string, labels map[string]string, host *container.HostConfig) string {
	t.Helper()
	if host == nil {
		host = &container.HostConfig{}
	}
	host.NetworkMode = "host"
	c, err := l.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}, Labels: labels}, HostConfig: host,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	})
	return c.ID
}

func (l *apiLab) start(t *testing.T, id string) {
	t.Helper()
	if _, err := l.api.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (l *apiLab) kill(t *testing.T, id string) {
	t.Helper()
	if _, err := l.api.ContainerKill(t.Context(), id, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
	wait := l.api.ContainerWait(t.Context(), id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
	case err := <-wait.Error:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatalf("container %s goes on after it was killed", id)
	}
}

// pid returns the process according to the daemon.
func (l *apiLab) pid(t *testing.T, id string) int {
	t.Helper()
	res, err := l.api.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Container.State.Pid
}

// told are the facts that an engine reports about a container, among them its label team.
type told struct {
	Engine                    Engine
	Namespace, ID, Name, Team string
	Notes                     []string
}

// wantTold compares the facts about the container named s.
func wantTold(t *testing.T, s string, c Target, want told) {
	t.Helper()
	got := told{c.Engine, c.Namespace, c.ID, c.Name, c.Labels["team"], c.Notes}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Resolve(%s) (-want +got):\n%s", s, diff)
	}
}

// wantMount returns the mount at a destination of the container named s.
func wantMount(t *testing.T, s string, c Target, destination string) Mount {
	t.Helper()
	i := slices.IndexFunc(c.Mounts, func(m Mount) bool { return m.Destination == destination })
	if i < 0 {
		t.Errorf("Resolve(%s): no mount at %s among %+v", s, destination, c.Mounts)
		return Mount{}
	}
	return c.Mounts[i]
}

// wantRunning checks a running container's process and groups: the groups must be the kernel's groups of that process.
func wantRunning(t *testing.T, f *Finder, got Target, pid int) {
	t.Helper()
	if !got.Running || got.PID != pid {
		t.Errorf("%s: running %v, process %d; want process %d", got.Ref(), got.Running, got.PID, pid)
	}
	if got.Elsewhere != "" {
		t.Errorf("%s is elsewhere: %s", got.Ref(), got.Elsewhere)
	}
	if len(got.Groups) == 0 {
		t.Errorf("%s has no groups", got.Ref())
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(stat), " "+strconv.FormatUint(got.StartTime, 10)+" ") {
		t.Errorf("%s: started at %d, want one of %s", got.Ref(), got.StartTime, stat)
	}
	for _, g := range got.Groups {
		if g.Shared {
			t.Errorf("%s: group %+v is not its own", got.Ref(), g)
		}
		if procs := procsOf(g); !strings.Contains("\n"+procs, fmt.Sprintf("\n%d\n", pid)) {
			t.Errorf("%s: process %d is not in group %+v, which has %q", got.Ref(), pid, g, procs)
		}
	}
	if err := f.Alive(got); err != nil {
		t.Errorf("Alive(%s) = %v", got.Ref(), err)
	}
}

// procsOf reads a group's processes.
func procsOf(g Group) string {
	hierarchies, err := New(Options{}).hierarchies()
	if err != nil {
		return err.Error()
	}
	i := slices.IndexFunc(hierarchies, func(h hierarchy) bool {
		return h.group.Version == g.Version && slices.Equal(h.group.Controllers, g.Controllers)
	})
	if i < 0 {
		return "no hierarchy that is mounted"
	}
	b, err := os.ReadFile(filepath.Join(hierarchies[i].point, g.Path, "cgroup.procs"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// A listener receives a Finder's events.
type listener struct {
	t      *testing.T
	events <-chan Event
}

func listen(t *testing.T, f *Finder) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{t, f.Events(ctx)}
	t.Cleanup(func() {
		cancel()
		for range l.events {
		}
	})
	return l
}

// next waits for the next event of this type, and skips events of other types. The test fails if the event is of another id.
func (l *listener) next(typ EventType, id string) Event {
	l.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case e, ok := <-l.events:
			if !ok {
				l.t.Fatalf("events ended before %s %s", typ, id)
			}
			if e.Type != typ {
				continue
			}
			if e.Target.ID != id {
				l.t.Errorf("event %+v, want it of %q", e, id)
				continue
			}
			return e
		case <-timeout:
			l.t.Fatalf("no event %s %s", typ, id)
		}
	}
}

// A runtimeLab is an OCI runtime with a state folder of its own.
type runtimeLab struct{ path, root string }

// newRuntime returns the runtime of that name, and skips the test if it isn't installed.
func newRuntime(t *testing.T, name string) *runtimeLab {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s: apt-get install %s", name, name)
	}
	return &runtimeLab{path, filepath.Join(t.TempDir(), name)}
}

// ociName returns a container's name that no other test has, because runtimes name control groups after it.
func ociName(s string) string { return fmt.Sprintf("plimsoll-target-%d-%s", os.Getpid(), s) }

// create makes a container of the sleeper, with a folder mounted, and does not start it.
func (r *runtimeLab) create(t *testing.T, id string, cgroupsPath string) error {
	t.Helper()
	root := rootfs(t)
	bundle := filepath.Dir(root)
	spec := exec.Command(r.path, "spec", "--bundle", bundle)
	if strings.HasSuffix(r.path, "crun") {
		spec = exec.Command(r.path, "spec")
		spec.Dir = bundle
	}
	if out, err := spec.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var config map[string]any
	b, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err == nil {
		err = json.Unmarshal(b, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	process := config["process"].(map[string]any)
	process["terminal"], process["args"] = false, []string{"/sleeper"}
	config["annotations"] = map[string]string{"team": "blue"}
	config["mounts"] = append(config["mounts"].([]any), map[string]any{"destination": "/data", "type": "bind", "source": bundle, "options": []string{"rbind", "rw"}})
	if cgroupsPath != "" {
		config["linux"].(map[string]any)["cgroupsPath"] = cgroupsPath
	}
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(r.path, "--root", r.root, "create", "--bundle", bundle, id)
	words, err := os.Create(filepath.Join(bundle, "words"))
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	// The container keeps these files open.
	cmd.Stdout, cmd.Stderr = words, words
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(words.Name())
		return fmt.Errorf("%w: %s", err, b)
	}
	t.Cleanup(func() { exec.Command(r.path, "--root", r.root, "delete", "--force", id).Run() })
	return nil
}

func (r *runtimeLab) command(t *testing.T, words ...string) string {
	t.Helper()
	out, err := exec.Command(r.path, append([]string{"--root", r.root}, words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", r.path, words, err, out)
	}
	return string(out)
}
