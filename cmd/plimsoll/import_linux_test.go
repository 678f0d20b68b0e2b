package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/dockertest"
)

// A slowImport stands between plimsoll and a daemon, and holds up the import of an image at
// one point until it is released.
type slowImport struct {
	host string
	// reached is closed at that point, release lets it go on.
	reached chan struct{}
	release func()
}

// delayImport listens at a socket of its own. The import is held when half of the image has
// gone to the daemon, or, if answer is set, when the daemon has all of it and has answered.
func delayImport(t *testing.T, d *dockertest.Daemon, answer bool) *slowImport {
	t.Helper()
	s := &slowImport{reached: make(chan struct{})}
	released := make(chan struct{})
	s.release = sync.OnceFunc(func() { close(released) })
	reached := sync.OnceFunc(func() { close(s.reached) })
	// Not until the request's context ends: a server does not see that its client is gone
	// before it has read all of a request.
	hold := func() {
		reached()
		<-released
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "docker"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(d.Host, "unix://"))
	}}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // A client that is gone is no news.
	isImport := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/images/create")
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		if answer && isImport(r.Request) {
			hold()
		}
		return nil
	}
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isImport(r) && !answer {
			r.Body = &halfBody{ReadCloser: r.Body, left: 1 << 20, then: hold}
		}
		proxy.ServeHTTP(w, r)
	})}}
	server.Start()
	t.Cleanup(func() {
		s.release()
		server.Close()
	})
	s.host = "unix://" + filepath.Join(dir, "s")
	return s
}

// A halfBody calls then after so many bytes.
type halfBody struct {
	io.ReadCloser
	left int
	then func()
}

func (b *halfBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.then()
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), max(b.left, 4096))])
	b.left -= n
	return n, err
}

// testImport: a run that ends while it puts the worker's image into a daemon, which had none,
// leaves nothing there but that image, once and whole; the next run works.
func testImport(t *testing.T, api *client.Client, d *dockertest.Daemon) {
	for _, tt := range []struct {
		name   string
		answer bool
		signal os.Signal
	}{
		{"interrupted in the middle", false, os.Interrupt},
		{"interrupted at its end", true, os.Interrupt},
		{"killed in the middle", false, os.Kill},
		{"killed at its end", true, os.Kill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			removeWorkerImages(t, api)
			before := objects(t, api)
			dir := t.TempDir()
			slow := delayImport(t, d, tt.answer)
			setVariable(t, "DOCKER_HOST", slow.host)
			cmd := launch(t, dir, small, "run", "-", "--blocks", "1", "--set", "engines=[host, docker]")
			select {
			case <-slow.reached:
			case <-time.After(time.Minute):
				t.Fatalf("no image was imported:\n%s", cmd.Stderr)
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			slow.release()
			if tt.signal == os.Interrupt && (cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(cmd.Stderr.(*output).String(), "nothing is recorded")) {
				t.Errorf("ended with %v:\n%s", err, cmd.Stderr)
			}
			waitHeld(t, api, before)
			setVariable(t, "DOCKER_HOST", d.Host)
			if r := plimsoll(t, t.Context(), dir, small, "run", "-", "--blocks", "1", "--set", "engines=[host, docker]"); r.status != exitDone {
				t.Errorf("the next run: status %d, stderr:\n%s", r.status, r.stderr)
			}
			waitHeld(t, api, before)
			checkClean(t, dir)
		})
	}
}

// removeWorkerImages makes a daemon one that has never seen plimsoll.
func removeWorkerImages(t *testing.T, api *client.Client) {
	t.Helper()
	list, err := api.ImageList(t.Context(), client.ImageListOptions{All: true, Filters: make(client.Filters).Add("label", "plimsoll.worker")})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		if _, err := api.ImageRemove(t.Context(), i.ID, client.ImageRemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
}
