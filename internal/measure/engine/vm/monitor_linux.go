package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A monitor is the connection to QEMU itself (QMP, docs/interop/qmp-spec.txt). Only one goroutine may use it.
type monitor struct {
	conn *net.UnixConn
	in   *bufio.Reader
	// begun is the beginning of a line whose end did not come in time. asked counts the commands.
	begun []byte
	asked int
	// patience is how long saving the machine may take, and then how long resuming it may take.
	patience time.Duration
}

// newMonitor returns a monitor, and the end of its connection that QEMU inherits.
func newMonitor() (*monitor, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the machine's monitor: %w", err)
	}
	own, theirs := os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "monitor")
	defer own.Close()
	c, err := net.FileConn(own)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	conn := c.(*net.UnixConn)
	return &monitor{conn: conn, in: bufio.NewReader(conn), patience: savePatience}, theirs, nil
}

func (m *monitor) close() error { return m.conn.Close() }

// during runs a part of the conversation and ends it with ctx; its error is then the context's.
func (m *monitor) during(ctx context.Context, talk func() error) error {
	if err := m.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = m.conn.SetDeadline(time.Unix(1, 0))
	})
	err := talk()
	if !stop() {
		<-over
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// greet begins the conversation.
func (m *monitor) greet() error {
	if _, err := m.line(); err != nil {
		return err
	}
	return m.do("qmp_capabilities", nil, nil)
}

// line reads a line. An earlier call may have read a part of it.
func (m *monitor) line() ([]byte, error) {
	b, err := m.in.ReadBytes('\n')
	m.begun = append(m.begun, b...)
	if err != nil {
		return nil, err
	}
	whole := m.begun
	m.begun = nil
	return whole, nil
}

// do sends a command and reads its answer. It skips events, and the late answer to an earlier command.
func (m *monitor) do(command string, arguments any, answer any, files ...*os.File) error {
	m.asked++
	request := map[string]any{"execute": command, "id": m.asked}
	if arguments != nil {
		request["arguments"] = arguments
	}
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var rights []byte
	for _, f := range files {
		rights = append(rights, unix.UnixRights(int(f.Fd()))...)
	}
	if _, _, err := m.conn.WriteMsgUnix(append(b, '\n'), rights, nil); err != nil {
		return fmt.Errorf("qemu's monitor: %s: %w", command, err)
	}
	for {
		line, err := m.line()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("qemu has ended")
			}
			return fmt.Errorf("qemu's monitor: %s: %w", command, err)
		}
		var said struct {
			ID     *int            `json:"id"`
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		if err := json.Unmarshal(line, &said); err != nil {
			return fmt.Errorf("qemu's monitor: %.80q: %w", line, err)
		}
		switch {
		case said.ID != nil && *said.ID != m.asked:
		case said.Error != nil:
			return fmt.Errorf("qemu's monitor: %s: %s", command, said.Error.Desc)
		case said.Return != nil && answer != nil:
			return json.Unmarshal(said.Return, answer)
		case said.Return != nil:
			return nil
		}
	}
}

// savePatience is how long saving a machine may take: usually 70 MB.
const savePatience = 20 * time.Second

// save writes the machine's whole state to a file, and resumes the machine, also after an error. If ctx is over, and the
// machine is no longer needed, it stays stopped.
func (m *monitor) save(ctx context.Context, to *os.File) error {
	limited, cancel := context.WithTimeoutCause(ctx, m.patience, fmt.Errorf("saving the machine took longer than %v", m.patience))
	defer cancel()
	stopped, begun := false, false
	err := m.during(limited, func() error {
		if err := m.greet(); err != nil {
			return err
		}
		stopped = true
		if err := m.do("stop", nil, nil); err != nil {
			return err
		}
		if err := m.do("migrate-set-parameters", map[string]any{"max-bandwidth": 16 << 30}, nil); err != nil {
			return err
		}
		if err := m.do("getfd", map[string]any{"fdname": "saved"}, nil, to); err != nil {
			return err
		}
		begun = true
		if err := m.do("migrate", map[string]any{"uri": "fd:saved"}, nil); err != nil {
			return err
		}
		return m.saved()
	})
	if ctx.Err() != nil || !stopped {
		return err
	}
	// Saving may have taken all of the time.
	limited, cancel = context.WithTimeoutCause(ctx, m.patience, fmt.Errorf("it took longer than %v", m.patience))
	defer cancel()
	if e := m.during(limited, func() error {
		if err != nil && begun {
			if err := m.do("migrate_cancel", nil, nil); err != nil {
				return err
			}
			// QEMU refuses to resume until it is done with the file.
			if err := m.saved(); err != nil && !errors.As(err, new(*notSavedError)) {
				return err
			}
		}
		return m.do("cont", nil, nil)
	}); e != nil {
		return errors.Join(err, &stoppedError{e})
	}
	return err
}

// saved waits until QEMU has saved the machine. If QEMU can't, the error is a notSavedError.
func (m *monitor) saved() error {
	for {
		var s struct {
			Status string `json:"status"`
			Desc   string `json:"error-desc"`
		}
		if err := m.do("query-migrate", nil, &s); err != nil {
			return err
		}
		switch s.Status {
		case "completed":
			return nil
		case "failed", "cancelled", "": // "" means that saving never began.
			return &notSavedError{s.Desc}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A notSavedError has QEMU's reason why a machine was not saved.
type notSavedError struct{ why string }

func (e *notSavedError) Error() string { return "qemu could not save the machine" + colon(e.why) }

// goOn resumes a machine that is being read from its saved state, as soon as that is done.
func (m *monitor) goOn(ctx context.Context) error {
	return m.during(ctx, func() error {
		if err := m.greet(); err != nil {
			return err
		}
		for {
			var s struct {
				Status string `json:"status"`
			}
			if err := m.do("query-status", nil, &s); err != nil {
				return err
			}
			if s.Status != "inmigrate" {
				// Its saved state is a stopped one.
				return m.do("cont", nil, nil)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// A stoppedError says that a machine was stopped to be saved, and does not resume.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string {
	return "the machine was saved, but does not resume: " + e.err.Error()
}
func (e *stoppedError) Unwrap() error { return e.err }
