package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/journaltest"
)

// A labTest runs against any daemon.
type labTest struct {
	name string
	test func(*testing.T, *labDaemon)
}

// labFirst find a daemon without images, and leave it the worker's.
var labFirst = []labTest{
	{"Probe", testDockerProbe},
	{"Places", testDockerPlaces},
}

// labBeside run beside each other: each looks only at its own sessions. The longest come first.
var labBeside = []labTest{
	{"OddImages", testDockerOddImages},
	{"HostileImage", testDockerHostileImage},
	{"IOLimits", testDockerIOLimits},
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
	{"ManyLayers", testDockerManyLayers},
	{"Together", testDockerTogether},
	{"Remote", testDockerRemote},
	{"CancelledOpen", testDockerCancelledOpen},
	{"HardClose", testDockerHardClose},
}

// labLast count or sweep what the daemon has, or end the daemon.
var labLast = []labTest{
	{"ImageReuse", testDockerImageReuse},
	{"NameConflict", testDockerNameConflict},
	{"KilledOwner", testDockerKilledOwner},
	{"KilledWriter", testDockerKilledWriter},
	{"Sweep", testDockerSweep},
	{"HungDaemon", testDockerHungDaemon},
	{"KilledDaemon", testDockerKilledDaemon},
}

// run runs the tests on a daemon, the more among those that run beside each other.
func (l *labDaemon) run(t *testing.T, more ...labTest) {
	for _, x := range labFirst {
		t.Run(x.name, func(t *testing.T) { x.test(t, l) })
	}
	t.Run("Beside", func(t *testing.T) {
		for _, x := range append(more, labBeside...) {
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				x.test(t, l)
			})
		}
	})
	for _, x := range labLast {
		t.Run(x.name, func(t *testing.T) { x.test(t, l) })
	}
}

func TestDockerDaemon(t *testing.T) {
	t.Parallel()
	newDockerLab(t, dockertest.StartWith(t, runtimes(t))).run(t, labTest{"Runtime", testDockerRuntime})
}

func TestDockerPodman(t *testing.T) {
	t.Parallel()
	l := newDockerLab(t, dockertest.Podman(t, dockertest.PodmanOptions{}))
	l.podman = true
	l.run(t)
}

// TestDockerPodmanUlimits: a Podman whose own limits can't be given works all the
// same.
func TestDockerPodmanUlimits(t *testing.T) {
	t.Parallel()
	l := newDockerLab(t, dockertest.Podman(t, dockertest.PodmanOptions{NoUlimits: true}))
	e := l.engine(nil)
	for range 2 {
		s := l.open(t, e, engine.Spec{Place: place.Spec{Kind: place.Layer}})
		if got := s.say(t, "echo hi"); got != "hi" {
			t.Errorf("echo = %q, want hi", got)
		}
	}
}

func testDockerProbe(t *testing.T, l *labDaemon) {
	p := l.engine(nil).Probe(t.Context())
	if !p.OK {
		t.Fatalf("Probe() = %+v, want OK", p)
	}
	if p.Missing != "" || p.Fix != "" {
		t.Errorf("Probe() = %+v, want nothing missing", p)
	}
	want := "docker "
	if l.podman {
		want = "podman "
	}
	if !strings.HasPrefix(p.Version, want) || !strings.Contains(p.Version, " (API 1.") {
		t.Errorf("Version = %q, want %sN (API 1.N)", p.Version, want)
	}
	if !slices.Equal(p.Places, places) {
		t.Errorf("Places = %v, want %v", p.Places, places)
	}
	t.Logf("%s\n%s", p.Version, strings.Join(p.Notes, "\n"))
	if left := l.images(t); len(left) > 0 {
		t.Errorf("Probe left images: %v", left)
	}

	broken := l.engine([]byte("#!/nowhere\n")).Probe(t.Context())
	if broken.OK {
		t.Errorf("Probe() with a program that can't run = %+v, want it not OK", broken)
	}
	if broken.Missing == "" || broken.Fix == "" {
		t.Errorf("Probe() with a program that can't run = %+v, want what is missing and a fix", broken)
	}
	if left := l.images(t); len(left) > 0 {
		t.Errorf("the failed Probe left images: %v", left)
	}
}

// ownSystem is the file system of the places that have one of their own; the others' is that of a disk.
var ownSystem = map[place.Kind]string{place.Layer: "overlay", place.Tmpfs: "tmpfs"}

func testDockerPlaces(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	for _, kind := range places {
		t.Run(string(kind), func(t *testing.T) {
			spec := engine.Spec{Place: place.Spec{Name: string(kind), Kind: kind}}
			if kind == place.Tmpfs {
				spec.Place.Size = 8 << 20
			}
			s := l.open(t, e, spec)
			i := s.Info()
			fs := s.say(t, "fs")
			if want := ownSystem[kind]; want != "" && fs != want {
				t.Errorf("the data is on %s, want %s", fs, want)
			}
			if disk := kind == place.Bind || kind == place.Volume; disk && slices.Contains([]string{"overlay", "tmpfs"}, fs) {
				t.Errorf("the data is on %s, want a disk", fs)
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
			if i.PID == 0 || hostPID(i.PID, i.Container) != i.PID {
				t.Errorf("Info().PID = %d, not of container %s", i.PID, i.Container)
			}
			if len(i.Container) != 64 {
				t.Errorf("Info().Container = %q, want a whole id", i.Container)
			}
			if !strings.Contains(i.Daemon, "(API 1.") {
				t.Errorf("Info().Daemon = %q, want its API's version", i.Daemon)
			}
			if i.Runtime == "" || i.Storage == "" {
				t.Errorf("Info() = %+v, want a runtime and a storage driver", i)
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
	if notes := journaltest.Entries(t, e.opt.StateDir); len(notes) > 0 {
		t.Errorf("notes are left: %v", notes)
	}
}

// testDockerVolumeOptions: a volume is made with the place's options.
func testDockerVolumeOptions(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	o := "size=4m"
	if l.podman {
		// Podman takes a size for a project quota, which needs XFS.
		o = "noexec"
	}
	spec := engine.Spec{Place: place.Spec{Kind: place.Volume, Driver: "local", DriverOpts: map[string]string{"type": "tmpfs", "device": "tmpfs", "o": o}}}
	s := l.open(t, e, spec)
	if fs := s.say(t, "fs"); fs != "tmpfs" {
		t.Errorf("the volume is on %s, want tmpfs", fs)
	}
	if size := s.say(t, "size"); !l.podman && size != "4194304" {
		t.Errorf("the volume has %s bytes, want 4194304", size)
	}
	spec.ID, spec.Place.DriverOpts = testID(), map[string]string{"nosuchoption": "1"}
	if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "nosuchoption") {
		t.Errorf("Open with an unknown volume option = %v, want an error with its name", err)
	}
	l.wantNothing(t, spec.ID)
}

func testDockerIsolation(t *testing.T, l *labDaemon) {
	s := l.openIsolated(t, l.engine(nil), layerSpec())
	if got := s.say(t, "links"); got != "1 <nil>" {
		t.Errorf("network links = %s, want lo only", got)
	}
	c := l.inspect(t, s)
	if log := c.HostConfig.LogConfig.Type; log != "none" {
		t.Errorf("log %q, want none", log)
	}
	if !c.HostConfig.AutoRemove {
		t.Error("the container stays when it ends")
	}
	if c.Config.Tty {
		t.Error("the container has a terminal")
	}
}

// testDockerBadSpecs: refused by us or by the daemon, nothing is left and the
// error names the culprit.
func testDockerBadSpecs(t *testing.T, l *labDaemon) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	own := *l
	own.state = t.TempDir() // Its records are counted.
	e := own.engine(nil)
	for name, x := range map[string]struct {
		spec engine.Spec
		want string
	}{
		"no folder":     {engine.Spec{Place: place.Spec{Name: "data", Kind: place.Bind, Path: "/nowhere/at/all"}}, "/nowhere/at/all"},
		"file":          {engine.Spec{Place: place.Spec{Name: "data", Kind: place.Bind, Path: file}}, "not a folder"},
		"image":         {engine.Spec{Place: place.Spec{Kind: place.Layer}, Image: "no-such-image:1"}, "pull no-such-image:1"},
		"image name":    {engine.Spec{Place: place.Spec{Kind: place.Layer}, Image: "NO SUCH"}, "NO SUCH"},
		"seccomp":       {engine.Spec{Place: place.Spec{Kind: place.Layer}, Seccomp: "/nowhere.json"}, "/nowhere.json"},
		"seccomp text":  {engine.Spec{Place: place.Spec{Kind: place.Layer}, Seccomp: file}, file},
		"little memory": {engine.Spec{Place: place.Spec{Kind: place.Layer}, Limits: limit.Limits{Memory: 1000}}, "memory"},
	} {
		t.Run(name, func(t *testing.T) {
			if img := x.spec.Image; img != "" {
				if err := e.CheckImage(t.Context(), img); err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("CheckImage(%q) = %v, want %q in it", img, err, x.want)
				}
			}
			x.spec.ID = testID()
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
	if notes := journaltest.Entries(t, e.opt.StateDir); len(notes) > 0 {
		t.Errorf("notes are left: %v", notes)
	}
}

func testDockerLimits(t *testing.T, l *labDaemon) {
	spec := layerSpec()
	spec.Limits = limit.Limits{Memory: 100 << 20, CPUs: 1.5, CPUShares: 512}
	s := l.open(t, l.engine(nil), spec)
	r := l.inspect(t, s).HostConfig.Resources
	if r.Memory != 100<<20 || r.CPUShares != 512 {
		t.Errorf("memory %d, shares %d; want 104857600, 512", r.Memory, r.CPUShares)
	}
	if r.NanoCPUs != 1.5e9 && float64(r.CPUQuota) != 1.5*float64(r.CPUPeriod) {
		t.Errorf("CPUs %d (quota %d of %d), want 1.5", r.NanoCPUs, r.CPUQuota, r.CPUPeriod)
	}
}

func testDockerSeccomp(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	for profile, want := range map[string]string{"../seccomp/testdata/no-io-uring.json": "operation not permitted", "unconfined": "bad address"} {
		spec := layerSpec()
		spec.Seccomp = profile
		if got := l.open(t, e, spec).say(t, "iouring"); got != want {
			t.Errorf("io_uring_setup under %s = %q, want %q", profile, got, want)
		}
	}
	t.Logf("under the daemon's own profile: %s", l.open(t, e, layerSpec()).say(t, "iouring"))
}

// testDockerUserImage: the worker works in an image that has other ideas of user,
// folder, health and volumes.
func testDockerUserImage(t *testing.T, l *labDaemon) {
	files, err := workerTar([]byte("hello"), "/mark", "/data")
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
	if err := readProgress(res); err != nil {
		t.Fatal(err)
	}
	e := l.engine(nil)
	for _, kind := range places {
		s := l.open(t, e, engine.Spec{Place: place.Spec{Kind: kind}, Image: "plimsoll-test-user:1"})
		if got := s.say(t, "exists /mark"); got != "ok" {
			t.Errorf("%s: the image's own file: %s", kind, got)
		}
		if got := s.say(t, "user"); got != "0 /" {
			t.Errorf("%s: user and folder = %s, want 0 /", kind, got)
		}
		if fs, want := s.say(t, "fs"), ownSystem[kind]; want != "" && fs != want {
			t.Errorf("%s: the data is on %s, want %s", kind, fs, want)
		}
		if got := s.say(t, "write 100"); got != "ok" {
			t.Errorf("%s: write = %s", kind, got)
		}
	}
}

func testDockerImageReuse(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	l.open(t, e, layerSpec()).Close(t.Context())
	first := l.images(t)
	l.open(t, l.engine(nil), layerSpec()).Close(t.Context())
	if again := l.images(t); len(first) != 1 || !slices.Equal(first, again) {
		t.Errorf("images = %v, then %v; want one and the same", first, again)
	}
	if _, err := l.api.ImageRemove(t.Context(), first[0], client.ImageRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := l.open(t, e, layerSpec()).say(t, "echo a"); got != "a" {
		t.Errorf("after the image was removed: echo = %q", got)
	}
}

func testDockerTogether(t *testing.T, l *labDaemon) {
	e := l.engine(nil)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := l.open(t, e, layerSpec())
			if got := s.say(t, "echo "+fmt.Sprint(i)); got != fmt.Sprint(i) {
				t.Errorf("echo = %q", got)
			}
		})
	}
}
