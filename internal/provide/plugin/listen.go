package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Socket is where Docker looks for the plugin.
const Socket = "/run/docker/plugins/" + Name + ".sock"

// firstPassed is the number of the first socket that systemd passes (sd_listen_fds(3)).
const firstPassed = 3

// Listen returns the socket that systemd has passed to this process, or makes one at a path. A socket whose daemon was killed is replaced; Docker waits half a minute for
// such a one whenever it lists volumes. The error wraps syscall.EADDRINUSE if another process listens there.
func Listen(path string) (net.Listener, error) {
	if l, err := passed(); l != nil || err != nil {
		return l, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// passed returns systemd's socket, nil if there is none.
func passed() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("systemd passed %s sockets: the plugin has one", n)
	}
	f := os.NewFile(firstPassed, "LISTEN_FD_3")
	defer f.Close()
	return net.FileListener(f) // It duplicates the socket, and doesn't remove its path at the end.
}

// removeStale removes a socket on which nobody listens.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is no socket: remove it, or choose another path", path)
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("%s: %w: another process listens there", path, syscall.EADDRINUSE), c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// endWait is how long requests may take after the end of the daemon's context. Docker gives up Create and Mount after two minutes.
const endWait = 2 * time.Minute

// Serve answers on a listener until ctx ends, and completes what was begun.
func (p *Plugin) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: p.Handler(), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	return server.Shutdown(end)
}
