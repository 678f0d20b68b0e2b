package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/watch"
)

// Socket is the name, in the daemon's folder, of the socket that answers with the state.
const Socket = "keeper.sock"

// A Status is the state of a keeper, and the I/O of the containers that it limits.
type Status struct {
	keeper.Status
	// Usage is the I/O of the limited containers since the last request, nil if there are none. UsageError reports
	// why it isn't known.
	Usage      *watch.Interval `json:"usage,omitempty"`
	UsageError string          `json:"usage_error,omitempty"`
}

// A socket sends the state, as JSON, to each connection. Only this user may connect.
type socket struct {
	path     string
	state    func(context.Context) Status
	listener net.Listener
	// made is the file that listener made.
	made fs.FileInfo
	// missing is why the socket can't be created again, "" if it exists.
	missing string
}

// listen creates the socket, in place of one that a killed daemon left. The caller has the lock of the folder, so no
// other daemon listens there.
func (s *socket) listen(ctx context.Context) error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		return err
	}
	if err := os.Chmod(s.path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	if s.made, err = os.Stat(s.path); err != nil {
		return errors.Join(err, l.Close())
	}
	s.listener = l
	go s.serve(ctx, l)
	return nil
}

func (s *socket) serve(ctx context.Context, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			defer c.Close()
			state := s.state(ctx)
			_ = c.SetDeadline(time.Now().Add(statusTimeout))
			_ = json.NewEncoder(c).Encode(state)
		}()
	}
}

// there reports whether the socket is still the file that this daemon made.
func (s *socket) there() bool {
	info, err := os.Stat(s.path)
	return err == nil && os.SameFile(info, s.made)
}

// close ends listening. The socket of another daemon stays.
func (s *socket) close() {
	if l, ok := s.listener.(*net.UnixListener); ok && !s.there() {
		l.SetUnlinkOnClose(false)
	}
	s.listener.Close()
}

// statusTimeout is how long a reader of the state may take.
const statusTimeout = 10 * time.Second

// maxStatus bounds the size of a state, in bytes: 10,000 containers with 20 limits each have 60 MB.
const maxStatus = 256 << 20

// A noKeeperError names a folder without a running keeper.
type noKeeperError string

func (e noKeeperError) Error() string {
	return fmt.Sprintf("no daemon runs with %s: start it with plimsoll daemon", string(e))
}

// Is makes the error an fs.ErrNotExist.
func (noKeeperError) Is(err error) bool { return err == fs.ErrNotExist }

// Ask reads the state of a folder's daemon. The error wraps fs.ErrNotExist if none runs.
func Ask(run string) (*Status, error) {
	path := filepath.Join(run, Socket)
	c, err := net.Dial("unix", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, noKeeperError(run)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(statusTimeout))
	s := &Status{}
	if err := json.NewDecoder(io.LimitReader(c, maxStatus)).Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
