package docker

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
)

// A labDaemon is a daemon of the test's own with an engine on it.
type labDaemon struct {
	d      *dockertest.Daemon
	api    *client.Client
	worker []byte
	state  string
	podman bool
}

func newDockerLab(t *testing.T, d *dockertest.Daemon) *labDaemon {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	worker, err := testWorker()
	if err != nil {
		t.Fatal(err)
	}
	return &labDaemon{d: d, api: api, worker: worker, state: t.TempDir()}
}

// testWorker builds the test worker.
var testWorker = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "plimsoll-test-worker-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "worker")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "./testdata/worker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the test worker: %w: %s", err, b)
	}
	return os.ReadFile(out)
})

// engine returns a fresh engine on the daemon. A worker of nil is the lab's.
func (l *labDaemon) engine(worker []byte) *Engine {
	if worker == nil {
		worker = l.worker
	}
	return New(Options{Host: l.d.Host, StateDir: l.state, Worker: func(goos, goarch string) ([]byte, error) {
		if goos != "linux" {
			return nil, fmt.Errorf("no worker for %s/%s", goos, goarch)
		}
		return worker, nil
	}}).(*Engine)
}

var testIDs atomic.Int64

func testID() string {
	return fmt.Sprintf("t%d-%d", os.Getpid(), testIDs.Add(1))
}

// A firstMessages is a session whose test worker has said hello.
type firstMessages struct {
	engine.Session
	out *bufio.Reader
}

// open is openIsolated with the machine's network: a network of its own makes dockerd start itself three times more for each
// container, which takes a third of the container's time.
func (l *labDaemon) open(t *testing.T, e engine.Engine, spec engine.Spec) *firstMessages {
	t.Helper()
	spec.Network = cmp.Or(spec.Network, engine.HostNetwork)
	return l.openIsolated(t, e, spec)
}

// openIsolated opens a session, reads its hello, and checks at the test's end that nothing is left.
func (l *labDaemon) openIsolated(t *testing.T, e engine.Engine, spec engine.Spec) *firstMessages {
	t.Helper()
	if spec.ID == "" {
		spec.ID = testID()
	}
	if spec.Place.Kind == place.Bind && spec.Place.Path == "" {
		spec.Place.Path = t.TempDir()
	}
	s, err := e.Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("Open(%s) = %v", spec.Place.Kind, err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil && !t.Failed() {
			t.Errorf("Close() = %v", err)
		}
		l.wantNothing(t, spec.ID)
	})
	talk := &firstMessages{s, bufio.NewReader(s.Stdout())}
	if hello, err := talk.out.ReadString('\n'); err != nil || !strings.Contains(hello, `"hello"`) {
		t.Fatalf("hello = %q, %v; state %s; log %s", hello, err, s.State(t.Context()), s.Log())
	}
	return talk
}

// say sends a line to the worker and returns its answer.
func (s *firstMessages) say(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(s.Stdin(), line+"\n"); err != nil {
		t.Fatalf("send %q: %v", line, err)
	}
	answer, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("answer to %q: %v; state %s; log %s", line, err, s.State(t.Context()), s.Log())
	}
	return strings.TrimSpace(answer)
}

// last sends a line after which the worker is not heard of again, and returns the state.
func (s *firstMessages) last(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(s.Stdin(), line+"\n"); err != nil {
		t.Fatalf("send %q: %v", line, err)
	}
	if rest, _ := io.ReadAll(s.out); len(rest) > 0 {
		t.Errorf("after %q the worker said %q", line, rest)
	}
	return s.State(t.Context())
}

// wantNothing checks that no container and no volume of a session is left, waiting a little for
// a daemon that is still at it.
func (l *labDaemon) wantNothing(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		left := l.left(t, id)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left of session %s: %v", id, left)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *labDaemon) left(t *testing.T, id string) (left []string) {
	t.Helper()
	filter := make(client.Filters).Add("label", labelSession+"="+id)
	cs, err := l.api.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs.Items {
		// A dockerd killed in the middle of a removal lists the container after its restart as dead, and knows nothing of it.
		if _, err := l.api.ContainerInspect(context.Background(), c.ID, client.ContainerInspectOptions{}); c.State == "dead" && cerrdefs.IsNotFound(err) {
			continue
		}
		left = append(left, fmt.Sprintf("container %v %s", c.Names, c.State))
	}
	vs, err := l.api.VolumeList(context.Background(), client.VolumeListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs.Items {
		left = append(left, "volume "+v.Name)
	}
	return left
}

// images lists the images with a worker in them.
func (l *labDaemon) images(t *testing.T) (ids []string) {
	t.Helper()
	list, err := l.api.ImageList(t.Context(), client.ImageListOptions{Filters: make(client.Filters).Add("label", labelWorker)})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

// inspect returns what the daemon says about a session's container.
func (l *labDaemon) inspect(t *testing.T, s engine.Session) container.InspectResponse {
	t.Helper()
	in, err := l.api.ContainerInspect(t.Context(), s.Info().Container, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return in.Container
}

func layerSpec() engine.Spec {
	return engine.Spec{Place: place.Spec{Name: "layer", Kind: place.Layer}}
}
