package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/testkit/texttest"
)

// A fixture is a tree of files in place of a machine's.
type fixture struct {
	t   *testing.T
	dir string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t, t.TempDir()}
}

func (x *fixture) path(name string) string { return filepath.Join(x.dir, name) }

func (x *fixture) write(name, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(x.path(name)), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(x.path(name), []byte(text), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

// process makes a process in /proc: proc_pid_stat(5) and cgroups(7).
func (x *fixture) process(pid int, state string, start uint64, groups ...string) {
	x.write(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (a) b) %s 1 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 %d 1000 10\n", pid, state, start))
	x.write(fmt.Sprintf("proc/%d/cgroup", pid), strings.Join(groups, "\n")+"\n")
}

func (x *fixture) finder(opt Options) *Finder {
	opt.Proc = x.path("proc")
	return finder(x.t, opt)
}

const crioID = "7c0e3a1b5d9f48e26a7b13c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708"

// crio is a machine with CRI-O. CRI-O itself could not be installed for this test: the layout is that of its sources (cri-o/cri-o at
// f954a17, internal/oci/container.go, type ContainerState; server/container_create.go; internal/annotations), with
// containers/storage's folders. The files of a real node have more in them.
func crio(t *testing.T) *fixture {
	x := newFixture(t)
	sandbox := strings.Repeat("5", 64)
	config := func(id, kind, name string, labels string) string {
		return fmt.Sprintf(`{"ociVersion": "1.2.0", "annotations": {
			"io.container.manager": "cri-o", "io.kubernetes.cri-o.ContainerID": %q, "io.kubernetes.cri-o.ContainerType": %q,
			"io.kubernetes.cri-o.Name": %q, "io.kubernetes.cri-o.Image": "registry/shop:1", "io.kubernetes.cri-o.SandboxID": %q,
			"io.kubernetes.cri-o.Labels": %q},
			"mounts": [
				{"destination": "/proc", "type": "proc", "source": "proc"},
				{"destination": "/data", "type": "bind", "source": "/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi/pvc-1/mount", "options": ["rw", "rbind"]},
				{"destination": "/etc/hosts", "type": "bind", "source": "/var/lib/kubelet/pods/u-1/etc-hosts", "options": ["rw", "rbind"]}],
			"linux": {"cgroupsPath": "kubepods-besteffort-podu_1.slice:crio:%s"}}`, id, kind, name, sandbox, labels, id)
	}
	graph, run := "var/overlay-containers/", "run/overlay-containers/"
	x.write(graph+crioID+"/userdata/config.json", config(crioID, "container", "k8s_server_shop-1_default_u-1_0",
		`{"io.kubernetes.container.name":"server","io.kubernetes.pod.name":"shop-1","io.kubernetes.pod.namespace":"default","io.kubernetes.pod.uid":"u-1"}`))
	x.write(graph+crioID+"/userdata/state.json", `{"ociVersion": "1.2.0", "id": "`+crioID+`", "status": "running", "pid": 4242, "bundle": "/run", "initPid": 4242, "initStartTime": "9000"}`)
	x.write(run+crioID+"/userdata/pidfile", "4242")
	x.write(graph+sandbox+"/userdata/config.json", config(sandbox, "sandbox", "k8s_POD_shop-1_default_u-1_0",
		`{"app":"shop","io.kubernetes.pod.name":"shop-1","io.kubernetes.pod.namespace":"default","io.kubernetes.pod.uid":"u-1"}`))
	x.write(run+sandbox+"/userdata/pidfile", "4200")
	group := "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice/crio-"
	x.process(4242, "S", 9000, "0::"+group+crioID+".scope/container")
	x.process(4200, "S", 8000, "0::"+group+sandbox+".scope")
	return x
}

func (x *fixture) storage() Options {
	return Options{Storage: []Storage{{Graph: x.path("var"), Run: x.path("run")}}}
}

func TestCRIO(t *testing.T) {
	x := crio(t)
	f := x.finder(x.storage())
	want := Target{
		Kind: Container, Engine: CRIO, ID: crioID, Name: "k8s_server_shop-1_default_u-1_0", Image: "registry/shop:1",
		State: "running", Running: true, PID: 4242, StartTime: 9000,
		Groups: []Group{{Version: 2, Path: "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice/crio-" + crioID + ".scope"}},
		Mounts: []Mount{
			{Source: "/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi/pvc-1/mount", Destination: "/data", Volume: "pvc-1", Driver: "kubernetes.io/csi"},
			{Source: "/var/lib/kubelet/pods/u-1/etc-hosts", Destination: "/etc/hosts"},
		},
	}
	for _, s := range []string{"crio:" + crioID[:12], "crio:k8s_server_shop-1_default_u-1_0", crioID} {
		got := resolve(t, f, s)
		for k, v := range map[string]string{"app": "shop", "io.kubernetes.pod.name": "shop-1", "io.kubernetes.pod.namespace": "default", "io.kubernetes.container.name": "server"} {
			if got.Labels[k] != v {
				t.Errorf("Resolve(%s): label %s = %q, want %q", s, k, got.Labels[k], v)
			}
		}
		got.Labels, got.cgroupsPath = nil, ""
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Target{})); diff != "" {
			t.Errorf("Resolve(%s): %s", s, diff)
		}
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 1 || all[0].ID != crioID {
		t.Errorf("List() = %+v, %v; want one without the sandbox", all, err)
	}

	// The process id is another process's by now: state.json has the start time of the container's process.
	x.process(4242, "S", 9999999, "0::/user.slice")
	wantErr[*NotRunningError](t, resolveErr(t, f, "crio:"+crioID), "(exited)", "crictl start "+crioID[:12])
	// Without that file the process's group shows it.
	os.Remove(x.path("var/overlay-containers/" + crioID + "/userdata/state.json"))
	wantErr[*NotRunningError](t, resolveErr(t, f, "crio:"+crioID))
}

// TestCrunStatus reads crun's layout on hosts where crun itself does not run: the file is as containers/crun at ba38286 writes it
// (src/libcrun/status.c).
func TestCrunStatus(t *testing.T) {
	x := newFixture(t)
	x.write("bundle/config.json", `{"annotations": {"team": "blue"}, "mounts": [{"destination": "/data", "type": "none", "source": "/srv/data", "options": ["bind"]}], "linux": {"cgroupsPath": "ignored"}}`)
	status := func(pid int, start uint64, bundle string) string {
		return fmt.Sprintf(`{"pid": %d, "process-start-time": %d, "cgroup-path": "/machine/farm", "scope": null, "rootfs": "/r", "systemd-cgroup": false, "bundle": %q, "created": "2026-11-21T10:00:00Z", "detached": true, "external_descriptors": "[]"}`, pid, start, bundle)
	}
	x.write("crun/web/status", status(77, 500, x.path("bundle")))
	x.write("crun/.empty-directory/x", "")
	x.process(77, "S", 500, "0::/machine/farm/inner")
	f := x.finder(Options{Crun: []string{x.path("crun")}})
	got := resolve(t, f, "oci:web")
	want := got
	want.PID, want.Labels, want.Notes = 77, map[string]string{"team": "blue"}, nil
	want.Mounts = []Mount{{Source: "/srv/data", Destination: "/data"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Target{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Group{{Version: 2, Path: "/machine/farm"}}, got.Groups); diff != "" {
		t.Error(diff)
	}
	// The container's bundle may be removed while it runs.
	x.write("crun/web/status", status(77, 500, x.path("none")))
	if got := resolve(t, f, "oci:web"); got.PID != 77 || len(got.Notes) != 1 {
		t.Errorf("without the bundle: %+v", got)
	}
	for what, start := range map[string]uint64{"another process": 501, "the same": 500} {
		x.write("crun/web/status", status(77, start, x.path("bundle")))
		_, err := f.Resolve(t.Context(), Ref{Kind: Container, Name: "web"})
		if (err != nil) != (start == 501) {
			t.Errorf("%s: %v", what, err)
		}
	}
	x.process(77, "Z", 500, "0::/machine/farm/inner")
	wantErr[*NotRunningError](t, resolveErr(t, f, "web"), "(stopped)")
}

// TestBrokenFiles: files that can't be read are reported, and the other containers are found.
func TestBrokenFiles(t *testing.T) {
	x := newFixture(t)
	x.process(77, "S", 500, "0::/good")
	state := `{"id": "good", "init_process_pid": 77, "init_process_start": 500, "config": {"labels": ["bundle=/nowhere", "team=blue"]}}`
	x.write("runc/good/state.json", state)
	x.write("runc/empty/x", "")
	for name, text := range map[string]string{"half": state[:20], "nothing": "", "strange": `{"id": "other"}`, "huge": strings.Repeat(" ", maxFile+1)} {
		x.write("runc/"+name+"/state.json", text)
	}
	f := x.finder(Options{Runc: []string{x.path("runc")}})
	got := resolve(t, f, "good")
	if got.Labels["team"] != "blue" || got.PID != 77 {
		t.Errorf("%+v", got)
	}
	all, err := f.List(t.Context())
	if len(all) != 1 || err == nil {
		t.Fatalf("List() = %+v, %v", all, err)
	}
	texttest.Has(t, err.Error(), []string{"half/state.json", "nothing/state.json", `container "other"`, "larger than"})
	wantErr[*NotFoundError](t, resolveErr(t, f, "half"), "half/state.json")

	x.write("state/"+taskFolder+"/default/web/config.json", "{}")
	x.write("state/"+taskFolder+"/default/web/init.pid", "many")
	c := x.finder(Options{Containerd: []ContainerdRoot{{State: x.path("state")}}})
	wantErr[*NotFoundError](t, resolveErr(t, c, "web"), "not a process's number")
	// A runtime with virtual machines writes no process id.
	os.Remove(x.path("state/" + taskFolder + "/default/web/init.pid"))
	e := wantErr[*NotRunningError](t, resolveErr(t, c, "web"))
	if e == nil || len(e.Target.Notes) != 1 || !strings.Contains(e.Target.Notes[0], "virtual machine") {
		t.Errorf("%+v", e)
	}
}

// TestReuse: a process id that belongs to another process by now is an error, and so is a zombie.
func TestReuse(t *testing.T) {
	x := newFixture(t)
	x.process(77, "R", 500, "0::/some")
	f := x.finder(Options{})
	got := resolve(t, f, "pid:77")
	x.process(77, "R", 501, "0::/other")
	e := wantErr[*GoneError](t, f.Alive(got), "process 77 is another one now")
	if e == nil || !e.Reused {
		t.Errorf("%+v", e)
	}
	if g, err := f.Groups(got); err == nil {
		t.Errorf("Groups = %+v: they are another's", g)
	}
	x.process(77, "Z", 500, "0::/some")
	e = wantErr[*GoneError](t, f.Alive(got), "process 77 has ended")
	if e == nil || e.Reused {
		t.Errorf("%+v", e)
	}
	if err := resolveErr(t, f, "pid:77"); !strings.Contains(err.Error(), "no process 77") {
		t.Error(err)
	}
	x.write("proc/77/stat", "77 (short) R 1\n")
	if err := resolveErr(t, f, "pid:77"); !strings.Contains(err.Error(), "too few") {
		t.Error(err)
	}
}

// TestAbsent: absent engines are ignored if there is another one.
func TestAbsent(t *testing.T) {
	x := crio(t)
	opt := x.storage()
	opt.Runc, opt.Containerd = []string{x.path("nowhere")}, []ContainerdRoot{{State: x.path("nowhere")}}
	f := x.finder(opt)
	if got := resolve(t, f, crioID); len(got.Notes) > 0 {
		t.Errorf("notes %q of engines that are not here", got.Notes)
	}
	e := wantErr[*NotFoundError](t, resolveErr(t, f, "web"), "looked in")
	if e != nil && len(e.Unasked) > 0 {
		t.Errorf("%v", e)
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "containerd:web"), "containerd has no folder "+x.path("nowhere"))
	wantErr[*NotFoundError](t, resolveErr(t, f, "docker:web"), "there is no container web of Docker")
	if all, err := f.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("List() = %+v, %v", all, err)
	}
	opt.Unasked = []error{errors.New("the docker context far needs ssh")}
	f = x.finder(opt)
	if _, err := f.List(t.Context()); err == nil || !strings.Contains(err.Error(), "needs ssh") {
		t.Errorf("List(): %v", err)
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "web"), "not asked: the docker context far needs ssh")
}

// TestHost: Host finds this machine's engines at their documented places, each once.
func TestHost(t *testing.T) {
	dir := t.TempDir()
	socket, link := filepath.Join(dir, "podman.sock"), filepath.Join(dir, "docker.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(socket, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix://"+link)
	t.Setenv("CONTAINER_HOST", "unix://"+socket)
	t.Setenv("XDG_RUNTIME_DIR", "")
	o := Host(nil)
	if len(o.Daemons) != 2 || o.Daemons[0].Source != "DOCKER_HOST" {
		t.Errorf("Host(nil) has the daemons %+v, want two, the first of DOCKER_HOST", o.Daemons)
	}
	if len(o.Unasked) > 0 {
		t.Errorf("Host(nil) does not ask: %v", o.Unasked)
	}
	for name, n := range map[string]int{"runc": len(o.Runc), "crun": len(o.Crun), "containerd": len(o.Containerd), "storage": len(o.Storage)} {
		if n == 0 {
			t.Errorf("Host(nil) has no place for %s", name)
		}
	}
	daemons := 0
	for _, s := range New(o).sources {
		if _, ok := s.(*daemon); ok {
			daemons++
		}
	}
	if daemons != 1 {
		t.Errorf("%d daemons behind one socket, want 1", daemons)
	}
	t.Setenv("DOCKER_HOST", "ssh://me@far")
	if o := Host(nil); len(o.Unasked) != 1 || !strings.Contains(o.Unasked[0].Error(), "ssh") {
		t.Errorf("Host(nil) = %+v, want that ssh is not spoken", o)
	}

	nowhere := Options{
		Daemons:    []dockerapi.Address{{Host: "unix://" + dir + "/no.sock"}, {Host: "unix://" + dir + "/podman/no.sock"}},
		Containerd: []ContainerdRoot{{State: dir + "/no"}}, Storage: []Storage{{Graph: dir + "/no", Run: dir + "/no"}}, Runc: []string{dir + "/no"},
	}
	f := finder(t, nowhere)
	wantErr[*NotFoundError](t, resolveErr(t, f, "web"), "no container engine was found")
	e := wantErr[*NotFoundError](t, resolveErr(t, f, "podman:web"), "no socket of Podman at "+dir+"/podman/no.sock; start it")
	if e != nil && strings.Contains(e.Error(), "ockerd") {
		t.Errorf("%v: what of Docker?", e)
	}
	wantErr[*NotFoundError](t, resolveErr(t, f, "docker:web"), dir+"/no.sock")
	if all, err := f.List(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("List() = %+v, %v", all, err)
	}
}
