package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A monitor speaks with QEMU itself (QMP, docs/interop/qmp-spec.txt). It belongs to one goroutine.
type monitor struct {
	conn *net.UnixConn
	in   *bufio.Reader
}

// newMonitor returns a monitor, and the end that QEMU inherits.
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
	return &monitor{conn: conn, in: bufio.NewReader(conn)}, theirs, nil
}

func (m *monitor) close() error { return m.conn.Close() }

// greet begins the conversation.
func (m *monitor) greet(deadline time.Time) error {
	if err := m.conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := m.in.ReadBytes('\n'); err != nil {
		return err
	}
	return m.do("qmp_capabilities", nil, nil)
}

// do has a command carried out and reads its answer. Events in between are of no interest.
func (m *monitor) do(command string, arguments any, answer any, files ...*os.File) error {
	request := map[string]any{"execute": command}
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
		line, err := m.in.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("qemu has ended")
			}
			return fmt.Errorf("qemu's monitor: %s: %w", command, err)
		}
		var said struct {
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		if err := json.Unmarshal(line, &said); err != nil {
			return fmt.Errorf("qemu's monitor: %.80q: %w", line, err)
		}
		switch {
		case said.Error != nil:
			return fmt.Errorf("qemu's monitor: %s: %s", command, said.Error.Desc)
		case said.Return != nil && answer != nil:
			return json.Unmarshal(said.Return, answer)
		case said.Return != nil:
			return nil
		}
	}
}

// savePatience is how long it may take to save a machine: 70 MB as a rule.
const savePatience = 20 * time.Second

// save writes the machine's whole state to a file, and has it go on.
func (m *monitor) save(to *os.File) (err error) {
	if err := m.greet(time.Now().Add(savePatience)); err != nil {
		return err
	}
	if err := m.do("stop", nil, nil); err != nil {
		return err
	}
	defer func() {
		if e := m.do("cont", nil, nil); e != nil {
			err = errors.Join(err, &stoppedError{e})
		}
	}()
	if err := m.do("migrate-set-parameters", map[string]any{"max-bandwidth": 16 << 30}, nil); err != nil {
		return err
	}
	if err := m.do("getfd", map[string]any{"fdname": "saved"}, nil, to); err != nil {
		return err
	}
	if err := m.do("migrate", map[string]any{"uri": "fd:saved"}, nil); err != nil {
		return err
	}
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
		case "failed", "cancelled":
			return fmt.Errorf("qemu could not save the machine: %s", s.Desc)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// goOn has a machine that is being read from where it was saved go on as soon as that is done.
func (m *monitor) goOn(deadline time.Time) error {
	if err := m.greet(deadline); err != nil {
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
			// It was saved as one that is stopped.
			return m.do("cont", nil, nil)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A stoppedError says that a machine was stopped to be saved, and does not go on.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string {
	return "the machine was saved and does not go on: " + e.err.Error()
}
func (e *stoppedError) Unwrap() error { return e.err }
