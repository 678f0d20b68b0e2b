package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/dockertest"
	"plimsoll/internal/place"
)

// A dockerLab is a daemon of the test's own with an engine on it.
type dockerLab struct {
	d      *dockertest.Daemon
	api    *client.Client
	worker []byte
	state  string
	podman bool
}

// dockerLabTests run against any daemon.
var dockerLabTests = []struct {
	name string
	test func(*testing.T, *dockerLab)
}{
	{"Probe", testDockerProbe},
	{"Places", testDockerPlaces},
	{"VolumeOptions", testDockerVolumeOptions},
	{"Isolation", testDockerIsolation},
	{"EndOfInput", testDockerEndOfInput},
	{"Exit", testDockerExit},
	{"OutOfMemory", testDockerOutOfMemory},
	{"Killed", testDockerKilled},
	{"KilledThroughDaemon", testDockerKilledThroughDaemon},
	{"NoSpace", testDockerNoSpace},
	{"BadSpecs", testDockerBadSpecs},
	{"Limits", testDockerLimits},
	{"Seccomp", testDockerSeccomp},
	{"UserImage", testDockerUserImage},
	{"OddImages", testDockerOddImages},
	{"HostileImage", testDockerHostileImage},
	{"ManyLayers", testDockerManyLayers},
	{"ImageReuse", testDockerImageReuse},
	{"Together", testDockerTogether},
	{"Remote", testDockerRemote},
	{"NameConflict", testDockerNameConflict},
	{"CancelledOpen", testDockerCancelledOpen},
	{"HardClose", testDockerHardClose},
	{"KilledOwner", testDockerKilledOwner},
	{"Sweep", testDockerSweep},
	{"HungDaemon", testDockerHungDaemon},
	{"KilledDaemon", testDockerKilledDaemon},
}

func TestDockerDaemon(t *testing.T) {
	l := newDockerLab(t, dockertest.Start(t))
	for _, x := range dockerLabTests {
		t.Run(x.name, func(t *testing.T) { x.test(t, l) })
	}
}

func TestDockerPodman(t *testing.T) {
	l := newDockerLab(t, dockertest.Podman(t, dockertest.PodmanOptions{}))
	l.podman = true
	for _, x := range dockerLabTests {
		t.Run(x.name, func(t *testing.T) { x.test(t, l) })
	}
}

// TestDockerPodmanUlimits: a Podman whose own limits can't be given works all the
// same.
func TestDockerPodmanUlimits(t *testing.T) {
	l := newDockerLab(t, dockertest.Podman(t, dockertest.PodmanOptions{NoUlimits: true}))
	e := l.engine(nil)
	for range 2 {
		s := l.open(t, e, Spec{Place: place.Spec{Kind: place.Layer}})
		if got := s.say(t, "echo hi"); got != "hi" {
			t.Errorf("echo = %q, want hi", got)
		}
	}
}

func newDockerLab(t *testing.T, d *dockertest.Daemon) *dockerLab {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return &dockerLab{d: d, api: api, worker: buildDockerWorker(t), state: t.TempDir()}
}

// buildDockerWorker builds the test worker.
func buildDockerWorker(t *testing.T) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "worker")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, "./testdata/dockerworker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the test worker: %v: %s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// engine returns a fresh engine on the daemon. A worker of nil is the lab's.
func (l *dockerLab) engine(worker []byte) *docker {
	if worker == nil {
		worker = l.worker
	}
	return NewDocker(DockerOptions{Host: l.d.Host, StateDir: l.state, Worker: func(goos, goarch string) ([]byte, error) {
		if goos != "linux" {
			return nil, fmt.Errorf("no worker for %s/%s", goos, goarch)
		}
		return worker, nil
	}}).(*docker)
}

var dockerTestIDs atomic.Int64

func dockerTestID() string {
	return fmt.Sprintf("t%d-%d", os.Getpid(), dockerTestIDs.Add(1))
}

// A dockerTalk is a session whose test worker has said hello.
type dockerTalk struct {
	Session
	out *bufio.Reader
}

// open opens a session, reads its hello, and checks at the test's end that nothing is left.
func (l *dockerLab) open(t *testing.T, e Engine, spec Spec) *dockerTalk {
	t.Helper()
	if spec.ID == "" {
		spec.ID = dockerTestID()
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
	talk := &dockerTalk{s, bufio.NewReader(s.Stdout())}
	if hello, err := talk.out.ReadString('\n'); err != nil || !strings.Contains(hello, `"hello"`) {
		t.Fatalf("hello = %q, %v; state %s; log %s", hello, err, s.State(t.Context()), s.Log())
	}
	return talk
}

// say sends a line to the worker and returns its answer.
func (s *dockerTalk) say(t *testing.T, line string) string {
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
func (s *dockerTalk) last(t *testing.T, line string) string {
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
func (l *dockerLab) wantNothing(t *testing.T, id string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
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

func (l *dockerLab) left(t *testing.T, id string) (left []string) {
	t.Helper()
	filter := make(client.Filters).Add("label", dockerLabelSession+"="+id)
	cs, err := l.api.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs.Items {
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
func (l *dockerLab) images(t *testing.T) (ids []string) {
	t.Helper()
	list, err := l.api.ImageList(t.Context(), client.ImageListOptions{Filters: make(client.Filters).Add("label", dockerLabelWorker)})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		ids = append(ids, i.ID)
	}
	return ids
}

// inspect returns what the daemon says about a session's container.
func (l *dockerLab) inspect(t *testing.T, s Session) container.InspectResponse {
	t.Helper()
	in, err := l.api.ContainerInspect(t.Context(), s.Info().Container, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return in.Container
}

func dockerLayer() Spec { return Spec{Place: place.Spec{Name: "layer", Kind: place.Layer}} }

func testDockerProbe(t *testing.T, l *dockerLab) {
	p := l.engine(nil).Probe(t.Context())
	if !p.OK || p.Missing != "" || p.Fix != "" {
		t.Fatalf("Probe() = %+v, want OK", p)
	}
	want := "docker "
	if l.podman {
		want = "podman "
	}
	if !strings.HasPrefix(p.Version, want) || !strings.Contains(p.Version, " (API 1.") {
		t.Errorf("Version = %q, want %sN (API 1.N)", p.Version, want)
	}
	if !slices.Equal(p.Places, dockerPlaces) {
		t.Errorf("Places = %v, want %v", p.Places, dockerPlaces)
	}
	t.Logf("%s\n%s", p.Version, strings.Join(p.Notes, "\n"))
	if left := l.images(t); len(left) > 0 {
		t.Errorf("Probe left images: %v", left)
	}

	broken := l.engine([]byte("#!/nowhere\n")).Probe(t.Context())
	if broken.OK || broken.Missing == "" || broken.Fix == "" {
		t.Errorf("Probe() with a program that can't run = %+v, want what is missing and a fix", broken)
	}
	if left := l.images(t); len(left) > 0 {
		t.Errorf("the failed Probe left images: %v", left)
	}
}

func testDockerPlaces(t *testing.T, l *dockerLab) {
	e := l.engine(nil)
	for _, kind := range dockerPlaces {
		t.Run(string(kind), func(t *testing.T) {
			spec := Spec{Place: place.Spec{Name: string(kind), Kind: kind}}
			if kind == place.Tmpfs {
				spec.Place.Size = 8 << 20
			}
			s := l.open(t, e, spec)
			i := s.Info()
			fs := s.say(t, "fs")
			if kind == place.Layer && fs != "overlay" || kind == place.Tmpfs && fs != "tmpfs" || (kind == place.Bind || kind == place.Volume) && (fs == "overlay" || fs == "tmpfs") {
				t.Errorf("the data is on %s", fs)
			}
			if got := s.say(t, "write 4096"); got != "ok" {
				t.Errorf("write = %s", got)
			}
			if kind == place.Tmpfs {
				if got := s.say(t, "size"); got != "8388608" {
					t.Errorf("the tmpfs has %s bytes, want 8388608", got)
				}
				if i.HostPath != "" {
					t.Errorf("HostPath = %q for memory", i.HostPath)
				}
			} else if st, err := os.Stat(filepath.Join(i.HostPath, "data")); err != nil || st.Size() != 4096 {
				t.Errorf("the data is not at the host's path %q: %v", i.HostPath, err)
			}
			if i.PID == 0 || dockerPID(i.PID, i.Container) != i.PID {
				t.Errorf("Info().PID = %d, not of container %s", i.PID, i.Container)
			}
			if len(i.Container) != 64 || !strings.Contains(i.Daemon, "(API 1.") || i.Runtime == "" || i.Storage == "" {
				t.Errorf("Info() = %+v, want all of it", i)
			}
			t.Logf("%+v", i)
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("Close() = %v", err)
			}
			if _, err := os.Stat(i.HostPath); i.HostPath != "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after Close: %s: %v, want it gone", i.HostPath, err)
			}
		})
	}
	if notes, _ := os.ReadDir(e.journal.dir); len(notes) > 0 {
		t.Errorf("notes are left: %v", notes)
	}
}

// testDockerVolumeOptions: a volume is made with the place's options.
func testDockerVolumeOptions(t *testing.T, l *dockerLab) {
	e := l.engine(nil)
	o := "size=4m"
	if l.podman {
		// Podman takes a size for a project quota, which needs XFS.
		o = "noexec"
	}
	spec := Spec{Place: place.Spec{Kind: place.Volume, Driver: "local", DriverOpts: map[string]string{"type": "tmpfs", "device": "tmpfs", "o": o}}}
	s := l.open(t, e, spec)
	if fs := s.say(t, "fs"); fs != "tmpfs" {
		t.Errorf("the volume is on %s, want tmpfs", fs)
	}
	if size := s.say(t, "size"); !l.podman && size != "4194304" {
		t.Errorf("the volume has %s bytes, want 4194304", size)
	}
	spec.ID, spec.Place.DriverOpts = dockerTestID(), map[string]string{"nosuchoption": "1"}
	if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "nosuchoption") {
		t.Errorf("Open with an unknown volume option = %v, want an error with its name", err)
	}
	l.wantNothing(t, spec.ID)
}

func testDockerIsolation(t *testing.T, l *dockerLab) {
	s := l.open(t, l.engine(nil), dockerLayer())
	if got := s.say(t, "links"); got != "1 <nil>" {
		t.Errorf("network links = %s, want lo only", got)
	}
	if c := l.inspect(t, s); c.HostConfig.LogConfig.Type != "none" || !c.HostConfig.AutoRemove || c.Config.Tty {
		t.Errorf("log %q, auto remove %v, tty %v; want none, true, false", c.HostConfig.LogConfig.Type, c.HostConfig.AutoRemove, c.Config.Tty)
	}
}

func testDockerEndOfInput(t *testing.T, l *dockerLab) {
	id := dockerTestID()
	spec := dockerLayer()
	spec.ID = id
	s := l.open(t, l.engine(nil), spec)
	if got := s.State(t.Context()); got != "running" {
		t.Errorf("State() = %q, want running", got)
	}
	s.Stdin().Close()
	if rest, err := io.ReadAll(s.out); err != nil || len(rest) > 0 {
		t.Errorf("after the end of input: %q, %v", rest, err)
	}
	if got := s.State(t.Context()); got != "exit status 0" {
		t.Errorf("State() = %q, want exit status 0", got)
	}
	// It removes itself: nothing here waits for Close.
	l.wantNothing(t, id)
}

func testDockerExit(t *testing.T, l *dockerLab) {
	s := l.open(t, l.engine(nil), dockerLayer())
	s.say(t, "stderr first words")
	s.say(t, "stderr "+strings.Repeat("x", 9<<10))
	s.say(t, "stderr last words")
	if got := s.last(t, "exit 3"); got != "exit status 3" {
		t.Errorf("State() = %q, want exit status 3", got)
	}
	if log := s.Log(); len(log) > logSize || !strings.HasSuffix(log, "last words") {
		t.Errorf("Log() has %d bytes and ends with %q", len(log), log[max(0, len(log)-20):])
	}
}

func testDockerOutOfMemory(t *testing.T, l *dockerLab) {
	spec := dockerLayer()
	spec.Limits = Limits{Name: "small", Memory: 64 << 20}
	s := l.open(t, l.engine(nil), spec)
	got := s.last(t, "hog 268435456")
	if !strings.HasPrefix(got, "killed: ") || !strings.Contains(got, "out of memory (memory limit 64 MiB)") {
		t.Errorf("State() = %q, want killed: out of memory (memory limit 64 MiB)", got)
	}
	if !l.podman && strings.Contains(got, "perhaps") {
		t.Errorf("State() = %q: the daemon's event was not seen", got)
	}
}

func testDockerKilled(t *testing.T, l *dockerLab) {
	s := l.open(t, l.engine(nil), dockerLayer())
	p, err := os.FindProcess(s.Info().PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(s.out); len(rest) > 0 {
		t.Errorf("a killed worker said %q", rest)
	}
	if got := s.State(t.Context()); got != "killed: signal 9" {
		t.Errorf("State() = %q, want killed: signal 9", got)
	}
}

func testDockerKilledThroughDaemon(t *testing.T, l *dockerLab) {
	for name, kill := range map[string]func(id string) error{
		"kill": func(id string) error {
			_, err := l.api.ContainerKill(t.Context(), id, client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"remove": func(id string) error {
			_, err := l.api.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := l.open(t, l.engine(nil), dockerLayer())
			if err := kill(s.Info().Container); err != nil {
				t.Fatal(err)
			}
			io.ReadAll(s.out)
			got := s.State(t.Context())
			if !strings.HasPrefix(got, "killed: ") && !strings.HasPrefix(got, "container gone: ") {
				t.Errorf("State() = %q, want that it was killed", got)
			}
			t.Log(got)
		})
	}
}

func testDockerNoSpace(t *testing.T, l *dockerLab) {
	s := l.open(t, l.engine(nil), Spec{Place: place.Spec{Kind: place.Tmpfs, Size: 1 << 20}})
	if got := s.say(t, "write 4194304"); !strings.Contains(got, "no space left") {
		t.Errorf("a write beyond the place = %q, want no space left", got)
	}
}

// testDockerBadSpecs: refused by us or by the daemon, nothing is left and the
// error names the culprit.
func testDockerBadSpecs(t *testing.T, l *dockerLab) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e := l.engine(nil)
	for name, x := range map[string]struct {
		spec Spec
		want string
	}{
		"no folder":     {Spec{Place: place.Spec{Name: "data", Kind: place.Bind, Path: "/nowhere/at/all"}}, "/nowhere/at/all"},
		"file":          {Spec{Place: place.Spec{Name: "data", Kind: place.Bind, Path: file}}, "not a folder"},
		"image":         {Spec{Place: place.Spec{Kind: place.Layer}, Image: "no-such-image:1"}, "pull no-such-image:1"},
		"image name":    {Spec{Place: place.Spec{Kind: place.Layer}, Image: "NO SUCH"}, "NO SUCH"},
		"seccomp":       {Spec{Place: place.Spec{Kind: place.Layer}, Seccomp: "/nowhere.json"}, "/nowhere.json"},
		"seccomp text":  {Spec{Place: place.Spec{Kind: place.Layer}, Seccomp: file}, file},
		"little memory": {Spec{Place: place.Spec{Kind: place.Layer}, Limits: Limits{Memory: 1000}}, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			if img := x.spec.Image; img != "" {
				if err := e.CheckImage(t.Context(), img); err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("CheckImage(%q) = %v, want %q in it", img, err, x.want)
				}
			}
			x.spec.ID = dockerTestID()
			s, err := e.Open(t.Context(), x.spec)
			if err == nil {
				s.Close(context.Background())
				t.Fatal("Open worked")
			}
			if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(x.want)) {
				t.Errorf("Open = %v, want %q in it", err, x.want)
			}
			t.Log(err)
			l.wantNothing(t, x.spec.ID)
		})
	}
	if notes, _ := os.ReadDir(e.journal.dir); len(notes) > 0 {
		t.Errorf("notes are left: %v", notes)
	}
}

func testDockerLimits(t *testing.T, l *dockerLab) {
	spec := dockerLayer()
	spec.Limits = Limits{Memory: 100 << 20, CPUs: 1.5, CPUShares: 512}
	s := l.open(t, l.engine(nil), spec)
	r := l.inspect(t, s).HostConfig.Resources
	if r.Memory != 100<<20 || r.CPUShares != 512 {
		t.Errorf("memory %d, shares %d; want 104857600, 512", r.Memory, r.CPUShares)
	}
	if r.NanoCPUs != 1.5e9 && float64(r.CPUQuota) != 1.5*float64(r.CPUPeriod) {
		t.Errorf("CPUs %d (quota %d of %d), want 1.5", r.NanoCPUs, r.CPUQuota, r.CPUPeriod)
	}
}

func testDockerSeccomp(t *testing.T, l *dockerLab) {
	e := l.engine(nil)
	for profile, want := range map[string]string{"testdata/no-io-uring.json": "operation not permitted", "unconfined": "bad address"} {
		spec := dockerLayer()
		spec.Seccomp = profile
		if got := l.open(t, e, spec).say(t, "iouring"); got != want {
			t.Errorf("io_uring_setup under %s = %q, want %q", profile, got, want)
		}
	}
	t.Logf("under the daemon's own profile: %s", l.open(t, e, dockerLayer()).say(t, "iouring"))
}

// testDockerUserImage: the worker works in an image that has other ideas of user,
// folder, health and volumes.
func testDockerUserImage(t *testing.T, l *dockerLab) {
	files, err := dockerTar([]byte("hello"), "/mark", "/data")
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.api.ImageImport(t.Context(), client.ImageImportSource{Source: files, SourceName: "-"}, "plimsoll-test-user:1", client.ImageImportOptions{
		Changes: []string{"USER 1000", "WORKDIR /data", `ENTRYPOINT ["/mark"]`, "VOLUME /data"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.api.ImageRemove(context.Background(), "plimsoll-test-user:1", client.ImageRemoveOptions{Force: true})
	if err := dockerProgress(res); err != nil {
		t.Fatal(err)
	}
	e := l.engine(nil)
	for _, kind := range dockerPlaces {
		s := l.open(t, e, Spec{Place: place.Spec{Kind: kind}, Image: "plimsoll-test-user:1"})
		if got := s.say(t, "exists /mark"); got != "ok" {
			t.Errorf("%s: the image's own file: %s", kind, got)
		}
		if got := s.say(t, "user"); got != "0 /" {
			t.Errorf("%s: user and folder = %s, want 0 /", kind, got)
		}
		if fs, want := s.say(t, "fs"), map[place.Kind]string{place.Layer: "overlay", place.Tmpfs: "tmpfs"}[kind]; want != "" && fs != want {
			t.Errorf("%s: the data is on %s, want %s", kind, fs, want)
		}
		if got := s.say(t, "write 100"); got != "ok" {
			t.Errorf("%s: write = %s", kind, got)
		}
	}
}

func testDockerImageReuse(t *testing.T, l *dockerLab) {
	e := l.engine(nil)
	l.open(t, e, dockerLayer()).Close(t.Context())
	first := l.images(t)
	l.open(t, l.engine(nil), dockerLayer()).Close(t.Context())
	if again := l.images(t); len(first) != 1 || !slices.Equal(first, again) {
		t.Errorf("images = %v, then %v; want one and the same", first, again)
	}
	if _, err := l.api.ImageRemove(t.Context(), first[0], client.ImageRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := l.open(t, e, dockerLayer()).say(t, "echo a"); got != "a" {
		t.Errorf("after the image was removed: echo = %q", got)
	}
}

func testDockerTogether(t *testing.T, l *dockerLab) {
	e := l.engine(nil)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := l.open(t, e, dockerLayer())
			if got := s.say(t, "echo "+fmt.Sprint(i)); got != fmt.Sprint(i) {
				t.Errorf("echo = %q", got)
			}
		})
	}
}

// testDockerRemote: a daemon that is reached over the network works, but for what needs its files.
func testDockerRemote(t *testing.T, l *dockerLab) {
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	go dockerForward(near, strings.TrimPrefix(l.d.Host, "unix://"))
	e := NewDocker(DockerOptions{Host: "tcp://" + near.Addr().String(), Worker: func(string, string) ([]byte, error) { return l.worker, nil }})
	if p := e.Probe(t.Context()); !p.OK || slices.Contains(p.Places, place.Bind) {
		t.Errorf("Probe() = %+v, want OK without bind", p)
	}
	var u *Unsupported
	if _, err := e.Open(t.Context(), Spec{ID: dockerTestID(), Place: place.Spec{Kind: place.Bind, Path: t.TempDir()}}); !errors.As(err, &u) || u.What != "place bind" {
		t.Errorf("Open(bind) = %v, want Unsupported", err)
	}
	s := l.open(t, e, Spec{Place: place.Spec{Kind: place.Volume}})
	if got := s.say(t, "echo far"); got != "far" {
		t.Errorf("echo = %q, want far", got)
	}
	if i := s.Info(); i.PID != 0 || i.HostPath != "" {
		t.Errorf("Info() = %+v, want no pid and no path of another machine", i)
	}
	s.Stdin().Close()
	io.ReadAll(s.out)
	if got := s.State(t.Context()); got != "exit status 0" {
		t.Errorf("State() = %q, want exit status 0", got)
	}
}

// dockerForward joins each connection with a socket, half by half.
func dockerForward(near net.Listener, socket string) {
	type half interface {
		io.ReadWriter
		CloseWrite() error
	}
	join := func(to, from half) {
		io.Copy(to, from)
		to.CloseWrite()
	}
	for {
		c, err := near.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("unix", socket)
		if err != nil {
			c.Close()
			continue
		}
		go join(far.(half), c.(half))
		go join(c.(half), far.(half))
	}
}
