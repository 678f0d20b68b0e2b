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
	// Ended: its process has ended. Of the target only what names it is certain.
	Ended EventType = "ended"
	// Changed: it has another name, or somebody changed its limits through the engine.
	Changed EventType = "changed"
	// Connected: from now on a daemon tells. What it did before is in List.
	Connected EventType = "connected"
	// Lost: a daemon tells no more. It is asked again until it does.
	Lost EventType = "lost"
)

// An Event is something that happened to a container, or to a daemon.
type Event struct {
	Type EventType
	// Target is the container; empty for Connected and Lost.
	Target Target
	// Source says who told: "Docker at unix:///run/docker.sock".
	Source string
	// Err is why a daemon is Lost, or why a target's details are not known.
	Err error
}

// Events sends what happens to the containers of all engines until ctx is over, and then closes
// the channel. It doesn't wait for daemons that are not there: they may come later. Those
// containers that run already are in List.
//
// Docker and Podman tell through their API. Of the others' folders it is told by inotify. A
// container that Podman or CRI-O keeps in a storage that is not among Options is not told of.
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
