package main

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/dockertest"
)

// asksIn runs a line of ab with Plimsoll's flags and looks at its report and its record.
func asksIn(t *testing.T, engine, url string, flags ...string) {
	t.Helper()
	cwd, state := t.TempDir(), t.TempDir()
	r := apartIn(t, cwd, state, append([]string{"ab", "-n", "20", "-c", "2", "-k", "-e", "times.csv", url, "--record"}, flags...)...)
	if r.wantOutput(t, exitDone, "\nComplete requests:      20\nFailed requests:        0\n", "Document Length:        5 bytes\n", " 100%"); t.Failed() {
		t.FailNow()
	}
	if csv, err := os.ReadFile(filepath.Join(cwd, "times.csv")); err != nil || strings.Count(string(csv), "\n") != 102 {
		t.Errorf("-e wrote %q, %v", csv, err)
	}
	run, trials := records(t, state)
	one := trials[0]
	type recorded struct{ plan, status, engine, kind, metric string }
	got, want := recorded{run.Plan, string(run.Status), one.Cell.Engine, string(one.Spec.Kind), one.Metric.Name}, recorded{"ab", string(record.Done), engine, string(workload.HTTP), "requests"}
	if got != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	if one.Value <= 0 {
		t.Errorf("%v requests a second", one.Value)
	}
	// The record needs the histogram of the requests, not their times.
	if n := one.Results[0].Classes[0].Lat.Count(); n != 20 {
		t.Errorf("the histogram has %d requests, want 20", n)
	}
	if h := one.Results[0].HTTP; h == nil {
		t.Error("nothing of HTTP is recorded")
	} else {
		if len(h.Timings) > 0 {
			t.Errorf("%d times are recorded", len(h.Timings))
		}
		if h.Length != 5 {
			t.Errorf("a document of %d bytes, want 5", h.Length)
		}
	}
	for _, w := range one.Warnings {
		if strings.Contains(w.Text, "device") {
			t.Errorf("requests are judged as storage: %s", w.Text)
		}
	}
	rep := plimsoll(t, t.Context(), state, "", "report", "last", "--full")
	rep.stdout = unwrap(rep.stdout)
	rep.wantOutput(t, exitDone, "20 requests of ")
	if strings.Contains(rep.stdout, "I/O engine") {
		t.Errorf("the report names an I/O engine of requests:\n%s", rep.stdout)
	}
	checkClean(t, state)
}

// hello answers every request with five bytes.
func hello(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// TestABInEngines: the requests of a line of ab are made on the host or in a container, over the network that it has, and
// kept as a run.
func TestABInEngines(t *testing.T) {
	needRun(t)
	t.Parallel() // Its servers are its own.
	t.Run("host", func(t *testing.T) { asksIn(t, "host", hello(t)) })
	t.Run("oci", func(t *testing.T) {
		asksIn(t, "oci", hello(t), "--engine", "oci", "--cpus", "0.5", "--memory", "64MiB")
	})
	// A name is looked up on the machine: an empty container has no resolver.
	t.Run("name", func(t *testing.T) {
		asksIn(t, "oci", strings.Replace(hello(t), "127.0.0.1", "localhost", 1), "--engine", "oci")
	})
	t.Run("docker", func(t *testing.T) {
		d := dockertest.SharedDocker(t)
		setVariable(t, "DOCKER_HOST", d.Host)
		asksIn(t, "docker", hello(t), "--engine", "docker", "--network", "host")
		web := webContainer(t, d)
		asksIn(t, "docker", "http://127.0.0.1:8080/", "--engine", "docker", "--network", "container:"+web)
		// That address is the container's own.
		r := plimsoll(t, t.Context(), t.TempDir(), "", "ab", "-n", "1", "http://127.0.0.1:8080/", "--engine", "docker", "--network", "none")
		r.wantError(t, exitFailure, "refused")
		r = plimsoll(t, t.Context(), t.TempDir(), "", "ab", "-n", "1", "http://127.0.0.1:8080/", "--engine", "docker", "--network", "container:nobody")
		r.wantError(t, exitFailure, "nobody")
	})
}

// server is the program of webContainer: it answers at port 8080 of the container, and of nothing else.
const server = `package main

import (
	"bufio"
	"net"
	"strings"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			keep := false
			for r := bufio.NewReader(c); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				keep = keep || strings.HasPrefix(line, "Connection: Keep-Alive")
				if line == "\r\n" && !keep {
					c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
					return
				}
				if line == "\r\n" {
					c.Write([]byte("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"))
				}
			}
		}()
	}
}
`

// webContainer starts a container with a web server and no network but its own, and returns its name.
func webContainer(t *testing.T, d *dockertest.Daemon) string {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "root", "server")
	if err := os.WriteFile(source, []byte(server), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(filepath.Dir(program))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "plimsoll-test-web"
	res, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"}, name+":1", client.ImageImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res); err != nil {
		t.Fatal(err)
	}
	res.Close()
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: name + ":1", Cmd: []string{"/server"}}, HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestABRefusesElsewhere: what can't be done in a session is refused before one is opened.
func TestABRefusesElsewhere(t *testing.T) {
	needRun(t)
	var said transcript
	for _, line := range []string{
		"ab http://127.0.0.1/ --place tmpfs",
		"ab http://127.0.0.1/ --destructive x",
		"ab https://127.0.0.1/ --engine oci",
		"ab https://127.0.0.1/ --record",
		"ab -v 2 http://127.0.0.1/ --cpus 1 --engine oci",
		"ab -n 1000000 http://127.0.0.1/ --record",
		"ab http://127.0.0.1/ --cpus 1",
		"ab http://127.0.0.1/ --network web",
		"ab http://127.0.0.1/ --network web --engine oci",
	} {
		args := strings.Fields(line)
		said.add(args, plimsoll(t, t.Context(), t.TempDir(), "", args...))
	}
	said.check(t, "ab-refuses.txt")
}
