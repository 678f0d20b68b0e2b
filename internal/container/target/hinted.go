package target

import "sync"

// hinted are daemons that report events late, and are asked when files show a start. Podman writes its events to a file, and reads
// that every 250 ms for its listeners (libpod/events/logfile.go, and POLL_DURATION in github.com/nxadm/tail, watch/polling.go), so
// it delivers them 3 to 243 ms late. conmon writes its file before the container's program begins. Podman answers when its start is
// complete, because it locks the container. The zero value is ready for use.
type hinted struct {
	mu   sync.RWMutex
	next int
	by   map[int]hintedDaemon
}

type hintedDaemon struct {
	engine Engine
	ask    func(id string)
}

// add registers a daemon of engine e. Until deaf is called, ask gets the id of each container of e that files show as started; the
// daemon may not know it yet.
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

// tell reports to the daemons of t's engine that t has started.
func (h *hinted) tell(t Target) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, d := range h.by {
		if d.engine == t.Engine {
			d.ask(t.ID)
		}
	}
}
