package docker

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// testDockerRemote: a daemon that is reached over the network works, but for what needs its files.
func testDockerRemote(t *testing.T, l *labDaemon) {
	near, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	go forwardSocket(near, strings.TrimPrefix(l.d.Host, "unix://"))
	e := New(Options{Host: "tcp://" + near.Addr().String(), Worker: func(string, string) ([]byte, error) { return l.worker, nil }})
	if p := e.Probe(t.Context()); !p.OK || slices.Contains(p.Places, place.Bind) {
		t.Errorf("Probe() = %+v, want OK without bind", p)
	}
	var u *refusal.Error
	if _, err := e.Open(t.Context(), engine.Spec{ID: testID(), Place: place.Spec{Kind: place.Bind, Path: t.TempDir()}}); !errors.As(err, &u) || u.What != "place bind" {
		t.Errorf("Open(bind) = %v, want Unsupported", err)
	}
	s := l.open(t, e, engine.Spec{Place: place.Spec{Kind: place.Volume}})
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

// forwardSocket joins each connection with a socket, half by half.
func forwardSocket(near net.Listener, socket string) {
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
