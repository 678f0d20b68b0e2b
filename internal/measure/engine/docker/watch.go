package docker

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

// An eventWatch receives the daemon's events about one container. The container removes itself when it ends, so that
// nothing remains of a plimsoll that was killed; only events say then why it ended.
type eventWatch struct {
	// died, removed and lost are closed when the container has ended, when it is removed, and when no more events come.
	died, removed, lost chan struct{}

	mu     sync.Mutex
	oom    bool
	killed string // the number of a signal sent through the daemon
	exit   int
}

// eventsTimeout is how long the daemon may take to begin with events. Podman 4 sends no header before the first one.
const eventsTimeout = time.Second

// listenFor begins to receive events, and returns when the daemon has begun to send or time is up.
func listenFor(ctx context.Context, api *client.Client, id string) *eventWatch {
	w := &eventWatch{died: make(chan struct{}), removed: make(chan struct{}), lost: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		// Events returns when the daemon's header came.
		res := api.Events(ctx, client.EventsListOptions{
			Filters: make(client.Filters).Add("type", string(events.ContainerEventType)).Add("container", id),
		})
		close(ready)
		w.listen(res)
	}()
	timer := time.NewTimer(eventsTimeout)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C:
	case <-ctx.Done():
	}
	return w
}

func (w *eventWatch) listen(res client.EventsResult) {
	for {
		select {
		case m := <-res.Messages:
			w.note(m)
		case <-res.Err:
			close(w.lost)
			return
		}
	}
}

// note keeps what an event reports.
func (w *eventWatch) note(m events.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch m.Action {
	case events.ActionOOM:
		w.oom = true
	case events.ActionKill:
		w.killed = m.Actor.Attributes["signal"]
	case events.ActionDie:
		code := m.Actor.Attributes["exitCode"]
		if code == "" {
			// Podman's spelling.
			code = m.Actor.Attributes["containerExitCode"]
		}
		n, err := strconv.Atoi(code)
		if err != nil {
			n = -1
		}
		w.exit = n
		closeIfOpen(w.died)
	case events.ActionDestroy, events.ActionRemove:
		closeIfOpen(w.removed)
	}
}

// closeIfOpen closes c unless it is closed. Its caller holds the lock.
func closeIfOpen(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// A containerEnd is what the events reported about a container's end.
type containerEnd struct {
	died   bool
	exit   int
	oom    bool
	killed string
}

func (w *eventWatch) end() containerEnd {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := containerEnd{exit: w.exit, oom: w.oom, killed: w.killed}
	select {
	case <-w.died:
		e.died = true
	default:
	}
	return e
}
