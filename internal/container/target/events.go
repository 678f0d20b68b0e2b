package target

import (
	"context"
	"sync"
	"time"
)

// An EventType is what happened.
type EventType string

// What happens.
const (
	// Started: the container has a process. For what is read from files that is before the
	// program in it runs.
	Started EventType = "started"
	// Ended: its process has ended. Only the target's names and ids are certain.
	Ended EventType = "ended"
	// Changed: it has another name, or its limits were changed through the engine.
	Changed EventType = "changed"
	// Connected: from now on a daemon reports events. Earlier ones are in List.
	Connected EventType = "connected"
	// Lost: a daemon stopped reporting events. It is asked again until it reports them.
	Lost EventType = "lost"
)

// An Event is something that happened to a container, or to a daemon.
type Event struct {
	Type EventType
	// Target is the container; empty for Connected and Lost.
	Target Target
	// Source is the origin of the event: "Docker at unix:///run/docker.sock".
	Source string
	// Err is why a daemon is Lost, or why a target's details are not known.
	Err error
}

// Events sends what happens to the containers of all engines until ctx is over, and then closes
// the channel. It doesn't wait for daemons that are not there: they may come later. Those
// containers that run already are in List.
//
// Docker and Podman report events through their API. The folders of the others are watched by
// inotify. A container of Podman or CRI-O in a storage that is not among Options is not reported.
func (f *Finder) Events(ctx context.Context) <-chan Event {
	out := make(chan Event)
	send := func(e Event) {
		select {
		case out <- e:
		case <-ctx.Done():
		}
	}
	var wg sync.WaitGroup
	for _, s := range f.sources {
		wg.Go(func() { s.watch(ctx, send) })
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	return out
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
