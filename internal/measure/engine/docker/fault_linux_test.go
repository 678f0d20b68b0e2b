package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// foreign makes a container that carries the given labels but no session of ours.
func (l *labDaemon) foreign(t *testing.T, name string, labels map[string]string) string {
	t.Helper()
	e := l.engine(nil)
	api, d, err := e.connect(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	img, err := e.image(t.Context(), api, d, "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: img.id, Labels: labels}, HostConfig: &container.HostConfig{NetworkMode: "host"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
	})
	return c.ID
}

func (l *labDaemon) has(t *testing.T, id string) bool {
	t.Helper()
	_, err := l.api.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	return err == nil
}

// deadLabels are those of a process that ran a moment ago.
func deadLabels(t *testing.T, id string) map[string]string {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process := processLabel(procfs.Of("/proc", cmd.Process.Pid))
	cmd.Process.Kill()
	cmd.Wait()
	return map[string]string{labelSession: id, labelOwner: process, labelHost: hostID(), labelEngine: "x"}
}

func testDockerNameConflict(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	t.Run("stranger's", func(t *testing.T) {
		id := testID()
		stranger := l.foreign(t, containerName(id), nil)
		spec := layerSpec()
		spec.ID = id
		if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "rm -f "+containerName(id)) {
			t.Errorf("Open = %v, want an error with the command that helps", err)
		}
		if !l.has(t, stranger) {
			t.Error("the stranger's container is gone")
		}
	})
	t.Run("dead owner's", func(t *testing.T) {
		id := testID()
		old := l.foreign(t, containerName(id), deadLabels(t, id))
		spec := layerSpec()
		spec.ID = id
		l.open(t, e, spec)
		if l.has(t, old) {
			t.Error("the dead owner's container is still there")
		}
	})
	t.Run("our own", func(t *testing.T) {
		spec := layerSpec()
		spec.ID = testID()
		s := l.open(t, e, spec)
		if _, err := e.Open(t.Context(), spec); err == nil {
			t.Error("a second session of the same ID was opened")
		}
		if got := s.say(t, "echo alive"); got != "alive" {
			t.Errorf("the first session = %q", got)
		}
	})
}

// testDockerCancelledOpen: at whatever moment an Open is cancelled, nothing is left.
func testDockerCancelledOpen(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	l.open(t, e, layerSpec()).Close(t.Context())
	for after := time.Duration(0); after < time.Second; after = after*2 + 2*time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		spec := engine.Spec{ID: testID(), Place: place.Spec{Kind: place.Bind, Path: t.TempDir()}}
		s, err := e.Open(ctx, spec)
		cancel()
		if err == nil {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
		l.wantNothing(t, spec.ID)
		if left, _ := os.ReadDir(spec.Place.Path); len(left) > 0 {
			t.Errorf("cancelled after %v: left %v", after, left)
		}
		if e.lives(spec.ID) {
			t.Errorf("cancelled after %v: the session counts as living", after)
		}
	}
}

// testDockerHardClose: a Close whose context is over, of a worker that doesn't listen, and a
// second Close.
func testDockerHardClose(t *testing.T, l *labDaemon) {
	s := l.open(t, l.engine(nil), engine.Spec{Place: place.Spec{Kind: place.Volume}})
	io.WriteString(s.Stdin(), "sleep\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("second Close() = %v", err)
	}
	if l.has(t, s.Info().Container) {
		t.Error("the container is still there")
	}
}

// envDockerOwner makes this test binary the owner of sessions that it is killed over: the
// daemon's address, the state folder and the worker's path.
const envDockerOwner = "PLIMSOLL_TEST_DOCKER_OWNER"

// TestDockerOwnerProcess is no test but the process that testDockerKilledOwner kills.
func TestDockerOwnerProcess(t *testing.T) {
	args := strings.Split(os.Getenv(envDockerOwner), "|")
	if len(args) != 4 {
		t.Skip("run by KilledOwner only")
	}
	e := New(Options{Host: args[0], StateDir: args[1], Worker: func(string, string) ([]byte, error) { return os.ReadFile(args[2]) }})
	for _, kind := range places {
		spec := engine.Spec{ID: args[3] + "-" + string(kind), Place: place.Spec{Kind: kind}}
		if _, err := e.Open(t.Context(), spec); err != nil {
			fmt.Println("failed:", err)
			return
		}
	}
	fmt.Println("open")
	time.Sleep(time.Hour)
}

// testDockerKilledOwner: kill -9 of plimsoll leaves no container and no volume. A bind
// place's folder, and Podman's named volume, go with the next Sweep.
func testDockerKilledOwner(t *testing.T, l *labDaemon) {
	worker := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(worker, l.worker, 0o755); err != nil {
		t.Fatal(err)
	}
	id := testID()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDockerOwnerProcess$")
	cmd.Env = append(os.Environ(), envDockerOwner+"="+strings.Join([]string{l.d.Host, l.state, worker, id}, "|"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill := func() {
		if !killed {
			killed = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	defer kill()
	buf := make([]byte, 4096)
	n, _ := out.Read(buf)
	if got := string(buf[:n]); !strings.HasPrefix(got, "open") {
		t.Fatalf("the owner said %q", got)
	}

	e := l.engine(nil)
	folder := filepath.Join(l.state, "bind", containerName(id+"-bind"))
	if did, err := e.Sweep(t.Context()); err != nil || len(did) > 0 {
		t.Errorf("Sweep beside a living owner = %v, %v; want nothing", did, err)
	}
	for _, kind := range places {
		if len(l.left(t, id+"-"+string(kind))) == 0 {
			t.Errorf("no container for %s before the kill", kind)
		}
	}
	if !fileInContainer(folder) {
		t.Errorf("%s is not there before the kill", folder)
	}
	kill()
	if l.podman {
		l.wantNothing(t, id+"-layer")
		l.wantNothing(t, id+"-tmpfs")
		l.wantNothing(t, id+"-bind")
	} else {
		for _, kind := range places {
			l.wantNothing(t, id+"-"+string(kind))
		}
	}
	did, err := e.Sweep(t.Context())
	if err != nil || !strings.Contains(strings.Join(did, "\n"), "folder "+folder) {
		t.Errorf("Sweep = %v, %v; want the folder", did, err)
	}
	if fileInContainer(folder) {
		t.Errorf("%s is still there", folder)
	}
	l.wantNothing(t, id+"-volume")
	if did, err := e.Sweep(t.Context()); err != nil || len(did) > 0 {
		t.Errorf("second Sweep = %v, %v; want nothing", did, err)
	}
}

func testDockerSweep(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	living := l.open(t, e, engine.Spec{Place: place.Spec{Kind: place.Volume}})
	id := testID()
	dead := l.foreign(t, "", deadLabels(t, id))
	elsewhere := deadLabels(t, testID())
	elsewhere[labelHost] = "another"
	stays := []string{
		l.foreign(t, "", nil),
		l.foreign(t, "", elsewhere),
		l.foreign(t, "", l.engine(nil).labels(testID())),
		l.foreign(t, "", map[string]string{labelSession: "made-by-hand"}),
	}
	if _, err := l.api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "plimsoll-" + id, Labels: deadLabels(t, id)}); err != nil {
		t.Fatal(err)
	}
	// Another version of the worker, used once.
	older := l.engine(append(append([]byte{}, l.worker...), 0))
	l.open(t, older, layerSpec()).Close(t.Context())

	did, err := e.Sweep(t.Context())
	text := strings.Join(did, "\n")
	if err != nil {
		t.Errorf("Sweep = %v", err)
	}
	for _, want := range []string{"container plimsoll-" + id, "volume plimsoll-" + id, "image plimsoll-worker:"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("Sweep did %q, want %q once", text, want)
		}
	}
	if len(did) != 3 {
		t.Errorf("Sweep did %q, want three things", did)
	}
	if l.has(t, dead) {
		t.Error("the dead owner's container is still there")
	}
	for _, c := range stays {
		if !l.has(t, c) {
			t.Errorf("container %s was swept", c)
		}
	}
	if got := living.say(t, "echo alive"); got != "alive" {
		t.Errorf("the living session = %q", got)
	}
	if got := l.images(t); len(got) != 1 {
		t.Errorf("images = %v, want this worker's", got)
	}
}

// testDockerHungDaemon: a daemon that doesn't answer makes Close fail in time, and
// Probe say so.
func testDockerHungDaemon(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	e.closeTimeout = time.Second
	spec := layerSpec()
	spec.ID = testID()
	s, err := e.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(l.d.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Each waits for its own timeout.
	var p engine.Probe
	var serr, cerr error
	var asks sync.WaitGroup
	asks.Go(func() { p = l.engine(nil).Probe(t.Context()) })
	asks.Go(func() { _, serr = l.engine(nil).Sweep(t.Context()) })
	asks.Go(func() { cerr = s.Close(t.Context()) })
	asks.Wait()
	if err := syscall.Kill(l.d.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if serr == nil || !strings.Contains(serr.Error(), "does not answer in time") {
		t.Errorf("Sweep() of a hung daemon: %v", serr)
	}
	if !errors.Is(cerr, context.DeadlineExceeded) {
		t.Errorf("Close() = %v, want that time is up", cerr)
	}
	if p.OK || !strings.Contains(p.Missing, "does not answer in time") {
		t.Errorf("Probe() of a hung daemon = %+v", p)
	}
	// The session is closed, so its container is nobody's: a sweep of the same
	// engine takes it, if the end of its input has not.
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	l.wantNothing(t, spec.ID)
}

func testDockerKilledDaemon(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	spec := engine.Spec{ID: testID(), Place: place.Spec{Kind: place.Volume}}
	s, err := e.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	l.d.Kill()
	if !l.podman {
		// Podman's containers have a monitor each and don't need the service.
		if _, err := io.ReadAll(s.Stdout()); err != nil {
			t.Errorf("Stdout = %v, want its end", err)
		}
		if got := s.State(t.Context()); !strings.HasPrefix(got, "daemon gone: ") {
			t.Errorf("State() = %q, want daemon gone", got)
		}
	}
	if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "daemon gone") {
		t.Errorf("Close() = %v, want that the daemon is gone", err)
	}
	if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "daemon") {
		t.Errorf("Open() = %v, want that the daemon is gone", err)
	}
	if p := e.Probe(t.Context()); p.OK || p.Fix == "" {
		t.Errorf("Probe() = %+v, want what is missing", p)
	}
	if did, err := e.Sweep(t.Context()); err != nil || len(did) > 0 {
		t.Errorf("Sweep() without a daemon = %v, %v; want nothing", did, err)
	}
	l.d.Restart(t)
	// On a busy machine it may not answer in time.
	_, err = e.Sweep(t.Context())
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); _, err = e.Sweep(t.Context()) {
		t.Log(err)
	}
	if err != nil {
		t.Error(err)
	}
	l.wantNothing(t, spec.ID)
	if got := l.open(t, e, layerSpec()).say(t, "echo again"); got != "again" {
		t.Errorf("after the restart: echo = %q", got)
	}
}
