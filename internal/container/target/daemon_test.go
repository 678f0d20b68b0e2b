package target

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/container/dockerapi"
)

// fakeDaemon answers with fixed bodies by the end of the path, whatever the API's version.
func fakeDaemon(t *testing.T, osType string, bodies map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Ostype", osType)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			return
		}
		for path, body := range bodies {
			if strings.HasSuffix(r.URL.Path, path) {
				fmt.Fprint(w, body)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no such container"}`)
	}))
	t.Cleanup(s.Close)
	return "tcp://" + strings.TrimPrefix(s.URL, "http://")
}

// TestVanishedWhileListed: a container that goes between the list and the question about it is left out, also if Podman reports that
// as an error of its own (the message is that of Podman 4.3).
func TestVanishedWhileListed(t *testing.T) {
	for status, body := range map[int]string{
		http.StatusNotFound:            `{"message": "No such container: bbbbbbbbbbbb"}`,
		http.StatusInternalServerError: `{"cause": "no such container", "message": "container bbbbbbbbbbbb does not exist in database: no such container", "response": 500}`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.45")
			w.Header().Set("Ostype", "linux")
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/containers/bbbbbbbbbbbb/json"):
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			case strings.HasSuffix(r.URL.Path, "/containers/json"):
				fmt.Fprint(w, `[{"Id": "bbbbbbbbbbbb", "Names": ["/gone"]}]`)
			default:
				fmt.Fprint(w, "{}")
			}
		}))
		t.Cleanup(s.Close)
		f := New(Options{Daemons: []dockerapi.Address{{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://")}}})
		defer f.Close()
		if list, err := f.List(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("status %d: List() = %+v, %v, want an empty list", status, list, err)
		}
	}
}

// windowsDaemon answers as a daemon of Windows does. The bodies are shortened from Docker's documentation of the API (Docker Engine
// 27 on Windows Server), not recorded.
func windowsDaemon(t *testing.T) string {
	const inspect = `{"Id": "aaaaaaaaaaaa", "Name": "/web", "State": {"Status": "running", "Running": true, "Pid": 4242},
		"Config": {"Image": "mcr.microsoft.com/windows/nanoserver", "Labels": {"team": "blue"}},
		"HostConfig": {"Isolation": "process"}, "Mounts": [{"Type": "volume", "Name": "data", "Source": "C:\\ProgramData\\docker\\volumes\\data\\_data", "Destination": "c:\\data", "Driver": "local"}]}`
	return fakeDaemon(t, "windows", map[string]string{
		"/version":             `{"Version": "27.3.1", "Os": "windows", "Arch": "amd64", "KernelVersion": "10.0 20348"}`,
		"/info":                `{"OSType": "windows", "OperatingSystem": "Microsoft Windows Server Version 21H2", "KernelVersion": "10.0 20348", "Isolation": "process"}`,
		"/containers/web/json": inspect, "/containers/aaaaaaaaaaaa/json": inspect,
		"/containers/json": `[{"Id": "aaaaaaaaaaaa", "Names": ["/web"]}]`,
		"/volumes/data":    `{"Name": "data", "Driver": "local", "Mountpoint": "C:\\ProgramData\\docker\\volumes\\data\\_data"}`,
	})
}

// TestTmpfsOption: a mount of --tmpfs is listed once among a container's mounts, like one of --mount type=tmpfs.
func TestTmpfsOption(t *testing.T) {
	c := container.InspectResponse{
		ID: "aaaaaaaaaaaa", HostConfig: &container.HostConfig{Tmpfs: map[string]string{"/scratch": "size=1m", "/both": "", "/run/": ""}},
		Mounts: []container.MountPoint{{Type: "tmpfs", Destination: "/both"}},
	}
	want := []Mount{{Destination: "/both"}, {Destination: "/run"}, {Destination: "/scratch"}}
	if got := new(daemon).target(c, &dockerapi.Daemon{Name: "docker"}).Mounts; !slices.Equal(got, want) {
		t.Errorf("mounts %+v, want %+v", got, want)
	}
}

// TestElsewhere: a container on another machine, or of Windows, has no process here: its process id would be an unrelated
// process's.
func TestElsewhere(t *testing.T) {
	host := windowsDaemon(t)
	f := finder(t, Options{Daemons: []dockerapi.Address{{Host: host, Source: "DOCKER_HOST"}}})
	for _, s := range []string{"web", "docker:web"} {
		got := resolve(t, f, s)
		want := got
		want.PID, want.Groups, want.OS, want.Host, want.Running, want.Labels = 0, nil, "windows", host, true, map[string]string{"team": "blue"}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Target{}), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("Resolve(%s) (-want +got):\n%s", s, d)
		}
		if !strings.Contains(got.Elsewhere, "over the network") {
			t.Errorf("Resolve(%s) is elsewhere: %q", s, got.Elsewhere)
		}
		if err := f.Alive(got); err != nil {
			t.Errorf("Alive = %v", err)
		}
		if g, err := f.Groups(got); err != nil || len(g) > 0 {
			t.Errorf("Groups = %+v, %v", g, err)
		}
	}
	all, err := f.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Elsewhere == "" {
		t.Errorf("List() = %+v, %v", all, err)
	}
	v := resolve(t, f, "volume:data")
	if v.Elsewhere == "" || len(v.Users) != 1 || v.Users[0].ID != "aaaaaaaaaaaa" {
		t.Errorf("volume:data = %+v", v)
	}
}

// TestForeignPID: the process ids of a daemon in another PID namespace belong to other processes here.
func TestForeignPID(t *testing.T) {
	x := newFixture(t)
	x.write("proc/stat", "cpu 1 2 3\nbtime 1700000000\n")
	x.process(4242, "S", 100, "0::/user.slice")
	id := strings.Repeat("a", 64)
	inspect := func(started string) string {
		return `{"Id": "` + id + `", "Name": "/web", "State": {"Status": "running", "Running": true, "Pid": 4242, "StartedAt": "` + started + `"}, "Config": {}}`
	}
	bodies := map[string]string{"/version": `{"Version": "27", "Os": "linux"}`, "/info": `{"OSType": "linux"}`, "/containers/web/json": inspect("2030-01-01T00:00:00Z")}
	host := fakeDaemon(t, "linux", bodies)
	// An address with tcp is elsewhere, so the test calls the function below.
	f := x.finder(Options{Daemons: []dockerapi.Address{{Host: host}}})
	d := f.sources[0].(*daemon)
	api, is, err := d.connect(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	here := *is
	here.Elsewhere = ""
	got, err := d.inspect(t.Context(), api, &here, "web")
	if err != nil {
		t.Fatal(err)
	}
	if got.Running || got.PID != 0 {
		t.Errorf("a stranger's number: running %v, process %d", got.Running, got.PID)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "PID namespace") {
		t.Errorf("a stranger's number: notes %q", got.Notes)
	}
	if said := (&NotRunningError{Target: got}).Error(); !strings.Contains(said, "docker says that it runs, but its process is not visible from here") || strings.Contains(said, "start it") {
		t.Errorf("a stranger's number: %q", said)
	}
	// The main thread has ended, and other threads run.
	x.process(4242, "Z", 100, "0::/")
	x.write("proc/4242/task/4243/stat", "4243 (a) S 1 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 100 1000 10\n")
	got, err = d.inspect(t.Context(), api, &here, "web")
	if said := (&NotRunningError{Target: got}).Error(); err != nil || !strings.Contains(said, "the main thread of its first process 4242 has ended") || strings.Contains(said, "start it") {
		t.Errorf("a zombie: %q, %v", said, err)
	}
	x.process(4242, "S", 100, "0::/user.slice")
	// A process whose start time is the daemon's is the container's, even without a group of its own.
	bodies["/containers/web/json"] = inspect("2023-11-14T22:13:22.5Z")
	got, err = d.inspect(t.Context(), api, &here, "web")
	if err != nil {
		t.Fatal(err)
	}
	if !got.Running || got.PID != 4242 {
		t.Errorf("a container without a group: running %v, process %d", got.Running, got.PID)
	}
	if len(got.Groups) != 1 || !got.Groups[0].Shared {
		t.Errorf("a container without a group: groups %+v, want a shared one", got.Groups)
	}
	x.process(4242, "S", 100, "0::/docker/"+id)
	bodies["/containers/web/json"] = inspect("2030-01-01T00:00:00Z")
	got, err = d.inspect(t.Context(), api, &here, "web")
	if err != nil || got.PID != 4242 || got.Groups[0].Shared {
		t.Errorf("one with a group: %+v, %v", got, err)
	}
}

// TestHungDaemon: Finder gives up a daemon that never answers, and uses the others' answers.
func TestHungDaemon(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	x := crio(t)
	opt := x.storage()
	opt.Daemons = []dockerapi.Address{{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://"), Source: "DOCKER_HOST"}}
	f := x.finder(opt)
	got := resolve(t, f, crioID)
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "does not answer in time") {
		t.Errorf("notes %q", got.Notes)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r := Ref{Kind: Container, Name: "web"}
	if _, err := f.Resolve(ctx, r); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("Resolve with a context that ends: %v", err)
	}
}

// TestHungAsk: while one caller waits for a hung daemon, others wait only as long as their contexts allow, and what() answers.
func TestHungAsk(t *testing.T) {
	asked, release := make(chan struct{}, 8), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Ostype", "linux")
		if strings.HasSuffix(r.URL.Path, "/_ping") {
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(s.Close)
	f := finder(t, Options{Daemons: []dockerapi.Address{{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://"), Source: "DOCKER_HOST"}}})
	d := f.sources[0].(*daemon)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = d.connect(context.Background(), true)
	}()
	t.Cleanup(func() { close(release); <-ended })
	<-asked
	told := make(chan error, 1)
	go func() {
		_ = d.what()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := d.list(ctx)
		told <- err
	}()
	select {
	case err := <-told:
		if err == nil {
			t.Error("a list of a daemon that hangs")
		}
	case <-ended:
		t.Error("the others waited until the first gave up")
	}
}
