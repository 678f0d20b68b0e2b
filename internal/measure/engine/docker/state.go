package docker

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/size"
)

// How long State waits for the daemon's events. An out-of-memory event may come after that of the end.
const (
	endWait = 5 * time.Second
	oomWait = 500 * time.Millisecond
)

// State implements Session.
func (s *session) State(ctx context.Context) string {
	select {
	case <-s.streamed:
	default:
		return "running"
	}
	select {
	case <-s.watch.died:
	case <-s.watch.lost:
	case <-time.After(endWait):
	case <-ctx.Done():
	}
	end := s.watch.end()
	if !end.died {
		return s.stateAsked(ctx, end)
	}
	for deadline := time.Now().Add(oomWait); s.memory > 0 && end.exit == statusKilled && !end.oom && end.killed == "" && time.Now().Before(deadline) && ctx.Err() == nil; end = s.watch.end() {
		time.Sleep(10 * time.Millisecond)
	}
	return endWords(end, s.memory)
}

// stateAsked asks the daemon about a container whose end no event reported.
func (s *session) stateAsked(ctx context.Context, end containerEnd) string {
	ctx, cancel := context.WithTimeout(ctx, dockerapi.PingTimeout)
	defer cancel()
	if s.closed.Load() {
		return "closed"
	}
	in, err := s.api.ContainerInspect(ctx, s.id, client.ContainerInspectOptions{})
	switch {
	case cerrdefs.IsNotFound(err):
		return "container gone: it was removed, or the daemon restarted"
	case err != nil:
		return "daemon gone: " + engine.FirstLine(err.Error())
	case in.Container.State == nil:
		return "unknown: the daemon reports no state"
	case in.Container.State.Running:
		return "running, but without a connection to it"
	}
	st := in.Container.State
	return endWords(containerEnd{died: true, exit: st.ExitCode, oom: st.OOMKilled || end.oom, killed: end.killed}, s.memory)
}

// statusKilled is the exit status of a process that was killed by SIGKILL: 128
// and the signal's number.
const statusKilled = 128 + int(syscall.SIGKILL)

// endWords describes a container's end. memory is its limit in bytes.
func endWords(e containerEnd, memory int64) string {
	limit := ""
	if memory > 0 {
		limit = " (memory limit " + size.Bytes(memory) + ")"
	}
	switch {
	case e.exit == statusKilled && e.oom:
		return "killed: out of memory" + limit
	case e.exit == statusKilled && e.killed != "":
		return "killed: through the daemon, with signal " + e.killed
	case e.exit == statusKilled && memory > 0:
		return "killed: signal 9; perhaps out of memory" + limit + ", but the daemon reported no such event"
	case e.exit > 128 && e.exit < 128+65:
		return "killed: signal " + strconv.Itoa(e.exit-128)
	case e.oom:
		return fmt.Sprintf("exit status %d, after one of its processes was killed: out of memory%s", e.exit, limit)
	case e.exit < 0:
		return "ended, with an unknown status"
	}
	return fmt.Sprintf("exit status %d", e.exit)
}
