package oci

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/lastbytes"
)

// endGrace is how long a container may take to end by itself.
const endGrace = 5 * time.Second

// session is an agent in a container of an OCI runtime.
type session struct {
	*engine.Process
	engine *Engine
	rt     *installedRuntime
	bundle *bundle
	// id names the container, entry the journal entry.
	id, entry string
	// own lists the folders made for it.
	own    []string
	limits *engine.IOLimits
	info   engine.Info
	// pidWait is how long Info waits for the container's process id; 0: the constant.
	pidWait time.Duration
}

// pidWait is how long Info waits, unless the session sets another time, for the runtime to write the container's process
// id, which it does just after the worker's first output.
const pidWait = time.Second

// Info implements Session.
func (s *session) Info() engine.Info {
	info := s.info
	info.PID = s.pid()
	return info
}

// IOLimits implements Limited.
func (s *session) IOLimits() *engine.IOLimits { return s.limits }

// pid is the id of the container's first process, 0 as long as there is none.
func (s *session) pid() int {
	for deadline := time.Now().Add(cmp.Or(s.pidWait, pidWait)); ; {
		b, err := os.ReadFile(s.bundle.pidFile())
		if pid, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil {
			return pid
		}
		if time.Now().After(deadline) {
			return 0
		}
		select {
		case <-s.Waited:
			return 0
		case <-time.After(time.Millisecond):
		}
	}
}

// State implements Session. If a runtime failed before the container ran, its output says why: a limit that the control
// groups can't have, for example.
func (s *session) State(ctx context.Context) string {
	state := s.Process.State(ctx)
	if _, err := os.Stat(s.bundle.pidFile()); err == nil {
		return state
	}
	if words := lastbytes.LastWords(s.Log()); words != "" && !strings.Contains(state, words) {
		state += ": " + words
	}
	return state
}

// Close implements Session.
func (s *session) Close(ctx context.Context) error {
	return s.CloseOnce(func() error {
		s.Stdin().Close()
		select {
		case <-s.Waited:
		case <-time.After(endGrace):
		case <-ctx.Done():
		}
		// The runtime may be about to make the container when it is killed, so remove runs before its end and again after
		// it.
		err := s.rt.remove(context.WithoutCancel(ctx), s.id)
		s.End(ctx, endGrace)
		if err == nil {
			err = s.rt.remove(context.WithoutCancel(ctx), s.id)
		}
		if err == nil {
			err = engine.RemoveGroups(s.id)
		}
		if err == nil {
			err = s.remove()
		}
		return err
	})
}

// remove removes the session's folders and then its journal entry.
func (s *session) remove() error {
	return s.engine.journal.Clear(s.entry, s.own...)
}
