package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// A testImage is an image that a test makes up, with all that a builder would refuse.
type testImage struct {
	// config is the image's configuration, by the names of the image specification.
	config map[string]any
	// layers are the image's, the lowest first.
	layers [][]tar.Header
}

// odd returns an image of one layer.
func odd(files ...tar.Header) testImage { return testImage{layers: [][]tar.Header{files}} }

// load puts an image into the daemon, under a name of its own, for as long as the test runs.
func (l *labDaemon) load(t *testing.T, img testImage) string {
	t.Helper()
	name := "plimsoll-test-" + testID() + ":1"
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	add := func(name string, b []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	var files, ids []string
	for i, layer := range img.layers {
		b := tarOf(t, layer)
		sum := sha256.Sum256(b)
		ids = append(ids, "sha256:"+hex.EncodeToString(sum[:]))
		files = append(files, fmt.Sprintf("layer%d.tar", i))
		add(files[i], b)
	}
	marshal := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	add("config.json", marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": img.config, "rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	}))
	add("manifest.json", marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": files}}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := l.api.ImageLoad(t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	t.Cleanup(func() {
		l.api.ImageRemove(context.Background(), name, client.ImageRemoveOptions{Force: true, PruneChildren: true})
	})
	if err := readProgress(res); err != nil {
		t.Fatal(err)
	}
	return name
}

func tarOf(t *testing.T, files []tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range files {
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarDir(name string) tar.Header { return tar.Header{Name: name + "/", Typeflag: tar.TypeDir} }
func tarFile(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 10}
}
func tarLink(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

// testDockerOddImages: the worker and the place get their paths whatever the image has there.
func testDockerOddImages(t *testing.T, l *labDaemon) {
	outside := t.TempDir()
	e := l.engine(nil)
	for name, img := range map[string]testImage{
		"nothing":          odd(tarDir("etc")),
		"files":            odd(tarFile("plimsoll-worker"), tarFile("plimsoll-data"), tarFile("data"), tarFile("tmp")),
		"links to /etc":    odd(tarDir("etc"), tarLink("plimsoll-worker", "/etc"), tarLink("plimsoll-data", "/etc"), tarLink("data", "/etc"), tarLink("tmp", "/etc")),
		"links to outside": odd(tarLink("plimsoll-worker", outside+"/worker"), tarLink("plimsoll-data", outside), tarLink("tmp", outside)),
		"links up":         odd(tarLink("plimsoll-worker", "../../../.."+outside+"/worker"), tarLink("plimsoll-data", "../../../.."+outside), tarLink("tmp", "../../..")),
		"links to nothing": odd(tarLink("plimsoll-worker", "/nowhere/at/all"), tarLink("plimsoll-data", "/nowhere/at/all")),
		"folders":          odd(tarDir("plimsoll-worker"), tarFile("plimsoll-worker/file"), tarDir("plimsoll-data"), tarFile("plimsoll-data/file")),
	} {
		image := l.load(t, img)
		for _, kind := range places {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				s := l.open(t, e, engine.Spec{Place: place.Spec{Kind: kind}, Image: image})
				if got := s.say(t, "write 100"); got != "ok" {
					t.Errorf("write = %s", got)
				}
				if fs, want := s.say(t, "fs"), ownSystem[kind]; want != "" && fs != want {
					t.Errorf("the data is on %s, want %s", fs, want)
				}
			})
		}
	}
	if got, err := os.ReadDir(outside); err != nil || len(got) > 0 {
		t.Errorf("outside of the container: %v, %v", got, err)
	}
	// Docker makes a folder of such an image's /proc, Podman starts no container of it and
	// says so.
	spec := engine.Spec{ID: testID(), Place: place.Spec{Kind: place.Layer}, Image: l.load(t, odd(tarDir("etc"), tarLink("proc", "/etc")))}
	if !l.podman {
		l.open(t, e, spec)
		return
	}
	if _, err := e.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "/proc") || strings.Contains(err.Error(), "\n") {
		t.Errorf("an image whose /proc is a link: Open() = %v, want a line that names it", err)
	}
	l.wantNothing(t, spec.ID)
}

// testDockerHostileImage: what an image sets doesn't reach the worker or its data.
func testDockerHostileImage(t *testing.T, l *labDaemon) {
	img := odd(tarDir("etc"), tarDir("data"), tarFile("entry"), tarFile("evil.so"))
	img.config = map[string]any{
		"User": "nobody:nogroup", "WorkingDir": "/nowhere", "Entrypoint": []string{"/entry", "entry"}, "Cmd": []string{"cmd"},
		"Env": []string{
			"LD_PRELOAD=/evil.so", "PATH=", "HOME=/evil", "GOMAXPROCS=1", "GOGC=1", "GOMEMLIMIT=1", "GODEBUG=gctrace=1,asyncpreemptoff=1", "GOTRACEBACK=crash", "GOCOVERDIR=/evil",
		},
		"Volumes":     map[string]any{"/data": map[string]any{}, "/plimsoll-data": map[string]any{}, "/plimsoll-worker": map[string]any{}, "/plimsoll-data/deep": map[string]any{}},
		"Healthcheck": map[string]any{"Test": []string{"CMD", "/evil"}, "Interval": 1_000_000},
		"Labels":      map[string]string{"huge": strings.Repeat("\u001b[31mx", 50_000), "plimsoll.session": "mine", "plimsoll.owner": "x"},
		"StopSignal":  "SIGKILL", "ArgsEscaped": true, "ExposedPorts": map[string]any{"80/tcp": map[string]any{}},
	}
	image := l.load(t, img)
	e := l.engine(nil)
	for _, kind := range places {
		s := l.open(t, e, engine.Spec{Place: place.Spec{Kind: kind}, Image: image})
		if fs, want := s.say(t, "fs"), ownSystem[kind]; want != "" && fs != want {
			t.Errorf("%s: the data is on %s, want %s", kind, fs, want)
		}
		if got := s.say(t, "write 100"); got != "ok" {
			t.Errorf("%s: write = %s", kind, got)
		}
		if got := s.say(t, "user"); got != "0 /" {
			t.Errorf("%s: user and folder = %s, want 0 /", kind, got)
		}
		for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR"} {
			if got := s.say(t, "getenv "+name); got != "." {
				t.Errorf("%s: the image's %s reaches the worker: %s", kind, name, got)
			}
		}
		if got := s.say(t, "cpus"); got != strconv.Itoa(runtime.NumCPU()) {
			t.Errorf("%s: the worker uses %s CPUs, want %d", kind, got, runtime.NumCPU())
		}
		in := l.inspect(t, s)
		if h := in.State.Health; h != nil && !slices.Contains([]container.HealthStatus{"none", ""}, h.Status) {
			t.Errorf("%s: the image's health check runs: %+v", kind, h)
		}
		if h := in.Config.Healthcheck; h != nil && !slices.Equal(h.Test, []string{"NONE"}) && len(h.Test) > 0 {
			t.Errorf("%s: the image's health check is on: %+v", kind, h)
		}
		if s.Log() != "" {
			t.Errorf("%s: log %q", kind, s.Log())
		}
	}
}

// testDockerManyLayers: the container is one of the user's own image, however many layers that has: none is added, for which a
// daemon may have no room. Three layers show it: the container's image is the user's own, and not one upon it.
func testDockerManyLayers(t *testing.T, l *labDaemon) {
	const n = 3
	var img testImage
	for i := range n {
		img.layers = append(img.layers, []tar.Header{tarFile(fmt.Sprintf("layer%d", i))})
	}
	name := l.load(t, img)
	s := l.open(t, l.engine(nil), engine.Spec{Place: place.Spec{Kind: place.Layer}, Image: name})
	if got := s.say(t, fmt.Sprintf("exists /layer%d", n-1)); got != "ok" {
		t.Errorf("the last layer's file: %s", got)
	}
	if got := s.say(t, "write 10"); got != "ok" {
		t.Errorf("write = %s", got)
	}
	own, err := l.api.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.inspect(t, s).Image; got != own.ID {
		t.Errorf("the container's image is %s, want the user's %s", got, own.ID)
	}
}
