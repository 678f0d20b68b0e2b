package target

import "sync"

// hinted are daemons that are listened to, and want to know of starts that files tell of: Podman writes its events to a file, and
// reads that every 250 ms for who listens (libpod/events/logfile.go, and POLL_DURATION in
// github.com/nxadm/tail, watch/polling.go), so that it delivers them 3 to 243 ms late. conmon notes a process before its program begins.
// Podman answers when its start is over, as it locks the container. The zero value is ready for use.
type hinted struct {
	mu   sync.RWMutex
	next int
	by   map[int]hintedDaemon
}

type hintedDaemon struct {
	engine Engine
	ask    func(id string)
}

// add has ask called with the ids of an engine's containers that have started, until deaf returns. The daemon may not know them.
func (h *hinted) add(e Engine, ask func(id string)) (deaf func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[int]hintedDaemon{}
	}
	n := h.next
	h.next++
	h.by[n] = hintedDaemon{e, ask}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.by, n)
	}
}

// tell tells the daemons of t's engine that it has started.
func (h *hinted) tell(t Target) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, d := range h.by {
		if d.engine == t.Engine {
			d.ask(t.ID)
		}
	}
}
