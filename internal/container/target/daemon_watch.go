package target

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
)

// The intervals at which a missing daemon is asked again: short at first, since a daemon that restarts is back within a second.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// eventsBegin is how long a daemon may take to begin its events. Podman 4 sends no header before the first one.
const eventsBegin = time.Second

// watch implements source.
func (d *daemon) watch(ctx context.Context, send func(Event)) {
	wait := firstRetry
	for {
		if api, is, err := d.connect(ctx, true); err == nil {
			wait = firstRetry
			err := d.follow(ctx, api, is, send)
			if ctx.Err() != nil {
				return
			}
			// Another caller may have found by now that the daemon can't be asked. It is Lost under the name under which it was
			// Connected.
			send(Event{Type: Lost, Source: d.called(is), Err: err})
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, lastRetry)
	}
}

// follow reports the daemon's events until the daemon ends them.
func (d *daemon) follow(ctx context.Context, api *client.Client, is *dockerapi.Daemon, send func(Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	filters := make(client.Filters).Add("type", string(events.ContainerEventType))
	begun := make(chan client.EventsResult, 1)
	// Events returns when the daemon's header has arrived.
	go func() { begun <- api.Events(ctx, client.EventsListOptions{Filters: filters}) }()
	timer := time.NewTimer(eventsBegin)
	defer timer.Stop()
	var res client.EventsResult
	select {
	case res = <-begun:
		begun = nil
	case <-timer.C:
	}
	telling := d.f.telling[engineOf(is)]
	telling.Add(1)
	defer telling.Add(-1)

	q := newEventQueues(func(m events.Message) { d.tell(ctx, api, is, m, send) })
	deaf := d.f.hinted.add(engineOf(is), func(id string) {
		q.add(events.Message{Action: events.ActionStart, Actor: events.Actor{ID: id}})
	})
	defer func() {
		// Requests in progress are not waited for.
		cancel()
		deaf()
		q.close()
	}()
	announced := false
	for {
		select {
		case r := <-begun:
			res, begun = r, nil
		default:
		}
		if !announced {
			// A daemon that refuses does so at once.
			select {
			case err := <-res.Err:
				return lostEvents(err)
			default:
			}
			announced = true
			send(Event{Type: Connected, Source: d.called(is)})
		}
		select {
		case r := <-begun:
			res, begun = r, nil
		case m := <-res.Messages:
			q.add(m)
		case err := <-res.Err:
			return lostEvents(err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func lostEvents(err error) error {
	if err == nil {
		return errors.New("the daemon ended its events")
	}
	return fmt.Errorf("the daemon's events ended: %w", err)
}

// tell converts a daemon's event into an Event and sends it.
func (d *daemon) tell(ctx context.Context, api *client.Client, is *dockerapi.Daemon, m events.Message, send func(Event)) {
	e := Event{Source: d.what(), Target: Target{
		Kind: Container, Engine: engineOf(is), ID: m.Actor.ID, Name: m.Actor.Attributes["name"], Image: m.Actor.Attributes["image"],
		Host: d.address.Host, OS: is.OS, Elsewhere: is.Elsewhere,
	}}
	switch m.Action {
	case events.ActionStart:
		e.Type = Started
	case events.ActionUpdate, events.ActionRename:
		e.Type = Changed
	case events.ActionDie:
		e.Type = Ended
		send(e)
		return
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	t, err := d.inspect(ctx, api, is, m.Actor.ID)
	switch {
	case dockerapi.NoContainer(err) || err == nil && !t.Running && len(t.Notes) == 0:
		// The container has ended already; the daemon's next event says so.
		return
	case err != nil:
		e.Err = err
	default:
		e.Target = t
	}
	send(e)
}

// queues is how many events are processed in parallel: each needs a request to the daemon, and a hundred containers may start
// together.
const queues = inspectors

// eventQueues process events in parallel, but those of one container in their order.
type eventQueues struct {
	in [queues]chan events.Message
	wg sync.WaitGroup
}

func newEventQueues(work func(events.Message)) *eventQueues {
	q := &eventQueues{}
	for i := range q.in {
		q.in[i] = make(chan events.Message, 256)
		q.wg.Go(func() {
			for m := range q.in[i] {
				work(m)
			}
		})
	}
	return q
}

func (q *eventQueues) add(m events.Message) {
	switch m.Action {
	case events.ActionStart, events.ActionUpdate, events.ActionRename, events.ActionDie:
	default:
		return
	}
	h := fnv.New32a()
	h.Write([]byte(m.Actor.ID))
	q.in[h.Sum32()%queues] <- m
}

// close waits until the queues have stopped; their context must be over.
func (q *eventQueues) close() {
	for _, c := range q.in {
		close(c)
	}
	q.wg.Wait()
}
