package winetest

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
)

// ServePipe serves handler on a named pipe until the end of the test, and returns its address in the format of DOCKER_HOST. name is
// the pipe's name alone.
func ServePipe(t testing.TB, name string, handler http.Handler) string {
	t.Helper()
	path := `\\.\pipe\` + name
	l, err := winio.ListenPipe(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := firstInstance(path)
	s := &http.Server{Handler: handler}
	go s.Serve(l)
	t.Cleanup(func() {
		if first != nil {
			first.Close()
		}
		s.Close()
	})
	return "npipe:////./pipe/" + name
}

// firstInstance connects to the pipe's first instance, which only keeps the name for the listener and which no program serves.
// Wine 8 would give it to the first client. Windows lets no client connect to an instance that can't be read or written; there
// firstInstance returns nil.
func firstInstance(path string) net.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	c, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		return nil
	}
	return c
}
