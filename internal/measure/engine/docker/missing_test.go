package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// TestDockerUnreachable asks real addresses at which no daemon is.
func TestDockerUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := l.Addr().String()
	l.Close()
	for host, want := range map[string]string{
		"tcp://" + refused: "no daemon listens at tcp://" + refused + ", which DOCKER_HOST names",
		"unix://" + filepath.Join(t.TempDir(), "none.sock"): "none.sock, which DOCKER_HOST names",
	} {
		t.Setenv("DOCKER_HOST", host)
		p := New(Options{}).Probe(t.Context())
		if p.OK || !strings.Contains(p.Missing, want) || !strings.Contains(p.Fix, "unset DOCKER_HOST") {
			t.Errorf("%s: %q, %q; want %q and to unset DOCKER_HOST", host, p.Missing, p.Fix, want)
		}
	}
}

// fakeDaemon answers with fixed bodies by path, whatever the API's version.
func fakeDaemon(t *testing.T, apiVersion, osType string, bodies map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", apiVersion)
		w.Header().Set("Ostype", osType)
		for path, body := range bodies {
			if strings.HasSuffix(r.URL.Path, path) {
				fmt.Fprint(w, body)
				return
			}
		}
		if r.URL.Path != "/_ping" {
			http.Error(w, `{"message": "what?"}`, http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	return "tcp://" + strings.TrimPrefix(s.URL, "http://")
}

// TestDockerProbeMissing: each way in which a daemon can't be used has its words and its fix.
func TestDockerProbeMissing(t *testing.T) {
	missing := "unix://" + filepath.Join(t.TempDir(), "no.sock")
	worker := func(goos, goarch string) ([]byte, error) {
		return nil, fmt.Errorf("no worker for %s/%s in this plimsoll", goos, goarch)
	}
	good := map[string]string{"/version": `{"Version": "1", "Os": "linux", "Arch": "riscv64"}`, "/info": `{"OSType": "linux", "Architecture": "riscv64"}`}
	for name, x := range map[string]struct {
		host, missing string
		failed        bool // A daemon that is there and fails, and not one that can't be had.
	}{
		"no socket":   {missing, "no daemon's socket", false},
		"bad host":    {"nonsense", "no scheme", false},
		"too old":     {fakeDaemon(t, "1.39", "linux", nil), "speaks API 1.39", false},
		"windows":     {fakeDaemon(t, "1.45", "windows", map[string]string{"/version": `{"Version": "1", "Os": "windows"}`, "/info": `{"OSType": "windows"}`}), "no worker for windows/", false},
		"errors":      {fakeDaemon(t, "1.45", "linux", nil), "what?", true},
		"nonsense":    {fakeDaemon(t, "1.45", "linux", map[string]string{"/version": "<html>", "/info": "<html>"}), "can't be used", true},
		"null answer": {fakeDaemon(t, "1.45", "linux", map[string]string{"/version": "null", "/info": "null"}), "no worker for linux/", false},
		"arch":        {fakeDaemon(t, "1.45", "linux", good), "no worker for linux/riscv64", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(Options{Host: x.host, Worker: worker})
			p := e.Probe(t.Context())
			if p.Engine != "docker" || p.OK || p.Failed != x.failed {
				t.Errorf("Probe() = %+v, want docker missing, and failed %v", p, x.failed)
			}
			if !strings.Contains(p.Missing, x.missing) || p.Fix == "" {
				t.Errorf("missing: %q, fix %q, want %q and a fix", p.Missing, p.Fix, x.missing)
			}
			if s, err := e.Open(t.Context(), engine.Spec{ID: "a", Place: place.Spec{Kind: place.Layer}}); err == nil {
				s.Close(t.Context())
				t.Error("Open worked")
			}
		})
	}
	if did, err := New(Options{Host: missing}).Sweep(t.Context()); err != nil || len(did) > 0 {
		t.Errorf("Sweep() without a daemon = %v, %v", did, err)
	}
}

// strangeSocket listens on a socket, and gives each connection to f.
func strangeSocket(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); f(c) }()
		}
	}()
	return "unix://" + path
}

// TestDockerStranger: if the program on the socket is no Docker daemon, or a sick one, the error is one
// line and comes in time. The program is not asked for a container.
func TestDockerStranger(t *testing.T) {
	t.Parallel()
	request := func(c net.Conn) *http.Request {
		r, _ := http.ReadRequest(bufio.NewReader(c))
		return r
	}
	always := func(answer string) func(net.Conn) {
		return func(c net.Conn) {
			if request(c) != nil {
				io.WriteString(c, answer)
			}
		}
	}
	html := "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: 26\r\nConnection: close\r\n\r\n<html>\x1b[31mhi\n\nyou</html>\n"
	pinged := func(then func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) {
			r := request(c)
			if r == nil {
				return
			}
			if strings.HasSuffix(r.URL.Path, "/_ping") {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nApi-Version: 1.45\r\nOstype: linux\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			}
			then(c)
		}
	}
	silent := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, x := range map[string]struct {
		serve   func(net.Conn)
		missing string
	}{
		"hangs up":       {func(net.Conn) {}, "can't be used"},
		"says nothing":   {silent, "does not answer in time"},
		"ssh":            {func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9\r\n"); silent(c) }, "is not a Docker daemon"},
		"noise":          {func(c net.Conn) { io.WriteString(c, strings.Repeat("\x00\xff\x1b[31m\n", 100)); silent(c) }, "is not a Docker daemon"},
		"web server":     {always(fmt.Sprintf(html, "200 OK")), "is not a Docker daemon"},
		"not found":      {always(fmt.Sprintf(html, "404 Not Found")), "is not a Docker daemon"},
		"broken":         {always(fmt.Sprintf(html, "500 Internal Server Error")), "can't be used"},
		"redirects":      {always("HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\nContent-Length: 0\r\n\r\n"), "is not a Docker daemon"},
		"hangs later":    {pinged(silent), "does not answer in time"},
		"fails later":    {pinged(func(c net.Conn) { fmt.Fprintf(c, html, "503 Service Unavailable") }), "can't be used"},
		"nonsense later": {pinged(func(c net.Conn) { fmt.Fprintf(c, html, "200 OK") }), "can't be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := New(Options{Host: strangeSocket(t, x.serve), Worker: func(string, string) ([]byte, error) { return []byte("w"), nil }})
			start := time.Now()
			p := e.Probe(t.Context())
			if p.OK || !strings.Contains(p.Missing, x.missing) || p.Fix == "" {
				t.Errorf("Probe() = %q, fix %q, want %q missing, and a fix", p.Missing, p.Fix, x.missing)
			}
			if strings.ContainsAny(p.Missing, "\n\x1b") || len(p.Missing) > 500 {
				t.Errorf("Probe() = %q, want one short line", p.Missing)
			}
			if stranger := x.missing == "is not a Docker daemon"; p.Failed == stranger {
				t.Errorf("Failed = %v: a sick daemon has failed, and no daemon is not there", p.Failed)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("Probe took %v", d)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := e.Open(ctx, engine.Spec{ID: "a", Place: place.Spec{Kind: place.Layer}}); err == nil {
				t.Error("Open worked")
			}
		})
	}
}
