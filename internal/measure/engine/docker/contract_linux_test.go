package docker

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/contracttest"
	"plimsoll/internal/testkit/dockertest"
)

// recorded stands between the test and a daemon, on a socket of its own, and returns its address.
func recorded(t *testing.T, host string) (string, *contracttest.Recorder) {
	t.Helper()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "daemon" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(host, "unix://"))
		}},
		FlushInterval: -1, // Events come one by one.
	}
	r := contracttest.Record(t, proxy)
	dir, err := os.MkdirTemp("", "contract") // t.TempDir's names are longer than a socket's may be.
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: r}
	go s.Serve(l)
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return "unix://" + l.Addr().String(), r
}

// TestDockerContract: all that a daemon is asked for is as the Engine's published description has it, method, path, query and
// body, on the way to a real one. Podman is asked by the same API, for what goes otherwise with it as well.
func TestDockerContract(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	asked := map[string]int{}
	t.Run("docker", func(t *testing.T) { maps.Copy(asked, contractOf(t, dockertest.SharedDocker(t), true)) })
	t.Run("podman", func(t *testing.T) {
		maps.Copy(asked, contractOf(t, dockertest.SharedPodman(t), false))
	})
	for _, want := range []string{
		"HEAD /_ping", "GET /version", "GET /info", "GET /events", "GET /containers/json", "GET /containers/{id}/json", "GET /images/json", "GET /images/{name}/json",
		"POST /images/create", "DELETE /images/{name}", "POST /containers/create", "PUT /containers/{id}/archive", "POST /containers/{id}/attach",
		"POST /containers/{id}/start", "POST /containers/{id}/update", "DELETE /containers/{id}", "POST /volumes/create", "GET /volumes", "GET /volumes/{name}", "DELETE /volumes/{name}",
	} {
		if asked[want] == 0 {
			t.Errorf("no request was %s; there were %v", want, asked)
		}
	}
}

// contractOf has a daemon do what Plimsoll has daemons do, and returns what it was asked for.
func contractOf(t *testing.T, d *dockertest.Daemon, update bool) map[string]int {
	l := newDockerLab(t, d)
	dockertest.ImportSleeper(t, l.api)
	host, r := recorded(t, d.Host)
	e := New(Options{Host: host, StateDir: l.state, Worker: func(string, string) ([]byte, error) { return l.worker, nil }})
	if p := e.Probe(t.Context()); !p.OK {
		t.Fatalf("Probe() = %+v", p)
	}
	if _, err := l.api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "named"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := l.api.VolumeRemove(context.Background(), "named", client.VolumeRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	f := target.New(target.Options{Daemons: []dockerapi.Address{{Host: host}}})
	defer f.Close()
	events, stop := context.WithCancel(t.Context())
	defer stop()
	f.Events(events)
	for name, spec := range map[string]engine.Spec{
		"layer":  {Place: place.Spec{Kind: place.Layer}, Limits: limit.Limits{CPUShares: 512, Memory: 256 << 20}, Seccomp: seccomp.Unconfined},
		"image":  {Place: place.Spec{Kind: place.Layer}, Image: dockertest.SleeperImage},
		"bind":   {Place: place.Spec{Kind: place.Bind}, Limits: limit.Limits{CPUs: 1}},
		"tmpfs":  {Place: place.Spec{Kind: place.Tmpfs, Size: 16 << 20}},
		"volume": {Place: place.Spec{Kind: place.Volume, DriverOpts: map[string]string{"type": "tmpfs", "device": "tmpfs", "o": "mode=0755"}}},
		"named":  {Place: place.Spec{Kind: place.Volume}, Volume: "named"},
	} {
		t.Run(name, func(t *testing.T) {
			id := l.open(t, e, spec).Info().Container
			if list, err := f.List(t.Context()); err != nil || len(list) == 0 {
				t.Errorf("List() = %v, %v", list, err)
			}
			if _, err := f.Resolve(t.Context(), target.Ref{Kind: target.Container, Name: id}); err != nil {
				t.Error(err)
			}
			if !update {
				return // Podman's own API has it, which is another.
			}
			a, err := engineapi.Open(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if _, err := a.Set(t.Context(), id, engineapi.Resources{CPUShares: 256}); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := f.Resolve(t.Context(), target.Ref{Kind: target.Volume, Name: "named"}); err != nil {
		t.Error(err)
	}
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	return r.Asked()
}
