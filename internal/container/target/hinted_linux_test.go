package target

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"plimsoll/internal/container/dockerapi"
)

// withoutEvents is a socket that forwards everything to a daemon, but never delivers events.
func withoutEvents(t *testing.T, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "podman.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "podman" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(host, "unix://"))
		}},
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "unix://" + path
}

// testPodmanLateEvents: a start is reported as soon as Podman's files show it, with the facts of Podman's service, although its
// event is still missing.
func testPodmanLateEvents(t *testing.T, l *apiLab) {
	host := withoutEvents(t, l.d.Host)
	f := finder(t, Options{Daemons: []dockerapi.Address{{Host: host, Source: "the test"}}, Storage: []Storage{storageOf(l)}})
	on := listen(t, f)
	for range 2 {
		on.next(Connected, "")
	}
	id := l.create(t, "late", map[string]string{"team": "red"}, &container.HostConfig{
		Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "late-data", Target: "/data"}},
	})
	l.start(t, id)
	e := on.next(Started, id)
	wantRunning(t, f, e.Target, l.pid(t, id))
	g := e.Target
	if g.Name != "late" || g.Labels["team"] != "red" {
		t.Errorf("event of %s with labels %v", g.Name, g.Labels)
	}
	if g.Host != host || g.Partial {
		t.Errorf("event from %s, partial %v, want all from %s", g.Host, g.Partial, host)
	}
	if len(g.Mounts) != 1 || g.Mounts[0].Volume != "late-data" {
		t.Errorf("event with mounts %+v, want the volume late-data", g.Mounts)
	}
}
