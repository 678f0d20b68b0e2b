package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/lastbytes"
)

// A session is an agent in a container of a daemon.
type session struct {
	e   *Engine
	api *client.Client
	// name is the session's ID; id is the container's, empty before it is made.
	name, id string
	// volume and folder are what was made for the place, or empty; the others are those of the sources.
	volume, folder             string
	sourceVolume, sourceFolder string
	// bound are the worker's own folders in volumes that are folders of this machine.
	bound []string
	// beside is set if the data is another session's.
	beside bool
	// memory is the limit in bytes, for State.
	memory int64
	limits *engine.IOLimits
	info   engine.Info
	log    lastbytes.Buffer

	watch *eventWatch
	// stop ends the events.
	stop context.CancelFunc

	conn   client.HijackedResponse
	stdout *io.PipeReader
	// streamed is closed when nothing more comes from the container.
	streamed chan struct{}

	closed    atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

var _ engine.Session = (*session)(nil)

// stream begins to separate the container's two output streams.
func (s *session) stream(conn client.HijackedResponse) {
	r, w := io.Pipe()
	s.conn, s.stdout, s.streamed = conn, r, make(chan struct{})
	go func() {
		_, err := stdcopy.StdCopy(w, &s.log, conn.Reader)
		// The agent's output ends with the connection, for any reason; State tells the reasons apart.
		if err != nil && !s.closed.Load() {
			fmt.Fprintf(&s.log, "connection to the container: %v\n", err)
		}
		// In this order: a reader of Stdout may call State as soon as it ends.
		close(s.streamed)
		w.Close()
	}()
}

// Stdin implements Session.
func (s *session) Stdin() io.WriteCloser { return (*stdinConn)(s) }

// Stdout implements Session.
func (s *session) Stdout() io.Reader { return s.stdout }

// Info implements Session.
func (s *session) Info() engine.Info { return s.info }

// IOLimits implements Limited.
func (s *session) IOLimits() *engine.IOLimits { return s.limits }

// Log implements Session.
func (s *session) Log() string { return s.log.String() }

// A stdinConn is the writing half of the connection.
type stdinConn session

// Write implements io.Writer.
func (s *stdinConn) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

// Close implements io.Closer: the agent reads the end of its input.
func (s *stdinConn) Close() error {
	if _, ok := s.conn.Conn.(client.CloseWriter); !ok {
		// Some pipes of Windows can't be closed in one direction only.
		return s.conn.Conn.Close()
	}
	return s.conn.CloseWrite()
}

// agentGrace is how long an agent may take to end once its input has ended. Its data is discarded, so there is no need to
// wait longer.
const agentGrace = 2 * time.Second

// Close implements Session.
func (s *session) Close(ctx context.Context) error {
	s.closeOnce.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *session) close(ctx context.Context) error {
	s.closed.Store(true)
	grace := agentGrace
	if ctx.Err() != nil {
		grace = 0
	}
	// Everything is removed even if the run is cancelled.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.e.closeTimeout)
	defer cancel()
	if s.conn.Conn != nil {
		s.Stdin().Close()
		timer := time.NewTimer(grace)
		select {
		case <-s.streamed:
		case <-timer.C:
		}
		timer.Stop()
		s.conn.Close()
		s.stdout.Close()
	}
	var errs []error
	if s.id != "" {
		errs = append(errs, s.e.removeContainer(ctx, s.api, s.id, s.watch))
	}
	if s.stop != nil {
		s.stop()
		// A goroutine that ends with stop reads the response's body.
		select {
		case <-s.watch.lost:
		case <-ctx.Done():
		}
	}
	for _, v := range []string{s.volume, s.sourceVolume} {
		if v != "" {
			errs = append(errs, s.e.removeVolume(ctx, s.api, v))
		}
	}
	if folders := append(s.folders(), s.bound...); len(folders) > 0 {
		errs = append(errs, s.e.journal.Clear(s.name, folders...))
	}
	s.e.leave(s.name)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close session %s (the next sweep removes the rest): %w", s.name, err)
	}
	return nil
}

// folders are the session's own folders on this machine.
func (s *session) folders() []string {
	return slices.DeleteFunc([]string{s.folder, s.sourceFolder}, func(f string) bool { return f == "" || s.beside })
}

// removeTries is how often a refused removal is tried again, 20 ms and more apart.
const removeTries = 20

// removeContainer removes a container and its nameless volumes, and returns when it is gone. watch, if not nil, reports
// that.
func (e *Engine) removeContainer(ctx context.Context, api *client.Client, id string, watch *eventWatch) error {
	var removed chan struct{}
	if watch != nil {
		removed = watch.removed
	}
	for tries := 0; ; {
		_, err := api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || cerrdefs.IsNotFound(err):
			return nil
		case cerrdefs.IsConflict(err):
			// It is removing itself already.
		case ctx.Err() != nil || client.IsErrConnectionFailed(err) || tries >= removeTries:
			return fmt.Errorf("remove container %.12s: %w", id, daemonErr(err))
		default:
			// Podman can't kill a container that is just ending ("container state
			// improper: stopped").
			tries++
		}
		select {
		case <-removed:
			removed = nil
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("remove container %.12s: %w (%w)", id, ctx.Err(), err)
		}
	}
}

// removeVolume removes a volume, and returns when it is gone: its container may still be ending.
func (e *Engine) removeVolume(ctx context.Context, api *client.Client, name string) error {
	for tries := 0; ; tries++ {
		_, err := api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true})
		if err == nil || cerrdefs.IsNotFound(err) {
			return nil
		}
		if ctx.Err() != nil || client.IsErrConnectionFailed(err) || tries >= removeTries {
			return fmt.Errorf("remove volume %s: %w", name, daemonErr(err))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// daemonErr adds that the daemon is gone, if that is why a request failed.
func daemonErr(err error) error {
	// A daemon that dies during an answer shows only as a broken connection.
	var op *net.OpError
	if client.IsErrConnectionFailed(err) || errors.As(err, &op) || err != nil && strings.Contains(err.Error(), "error during connect") {
		return fmt.Errorf("daemon gone: %w", err)
	}
	return err
}
