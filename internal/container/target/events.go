package target

import (
	"context"
	"sync"
	"time"
)

// An EventType is the type of an Event.
type EventType string

// Types of events.
const (
	// Started: the container has a process. An event from an engine's files comes before the container's program runs.
	Started EventType = "started"
	// Ended: its process has ended. Only the target's names and ids are certain.
	Ended EventType = "ended"
	// Changed: it was renamed, or its limits were changed through the engine.
	Changed EventType = "changed"
	// Connected: from now on a daemon reports events. List has earlier changes.
	Connected EventType = "connected"
	// Lost: a source reports no events any more, or not all of them. The Finder asks a daemon again until it reports them.
	Lost EventType = "lost"
)

// An Event is a change of a container, or of the connection to a daemon.
type Event struct {
	Type EventType
	// Target is the container; empty for Connected and Lost.
	Target Target
	// Source is the origin of the event: "Docker at unix:///run/docker.sock".
	Source string
	// Err is why a daemon is Lost, or why a target's details are unknown.
	Err error
}

// Events sends the changes of the containers of all engines until ctx is over, and then closes the channel. It doesn't wait for
// missing daemons: they may start later. List has the containers that run already.
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

// pause waits, and reports whether ctx is still live.
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
