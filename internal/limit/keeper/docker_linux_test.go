package keeper

import (
	"slices"
	"testing"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"plimsoll/internal/goal"
)

// startGoal is how long a container may run unheld after its start event.
const startGoal = 100 * time.Millisecond

// TestDocker: what a keeper does for containers of a real Docker daemon.
func TestDocker(t *testing.T) {
	needV1(t)
	l := newLab(t)
	t.Run("Start", l.testStart)
	t.Run("Policy", l.testPolicy)
	t.Run("Restarts", l.testRestarts)
}

// testStart: a container is held right after its start event.
func (l *lab) testStart(t *testing.T) {
	r := start(t, Options{Holder: holderFor(t, l.d.Host), ClearOnStop: true}, "rules:\n"+ruleText("web", `{name: "web-*"}`, "{volume: data}", "{write_bps: 10MiB, read_iops: 500}"))
	eventually(t, "the daemon is connected", func() bool { return len(r.k.Status().Engines) == 1 && r.k.Status().Engines[0].Connected })
	ctx := t.Context()
	told := l.api.Events(ctx, client.EventsListOptions{Filters: make(client.Filters).Add("event", "start")})
	var took, seen []time.Duration
	for range 10 {
		id := l.create("web-1", nil)
		l.start(id)
		var at time.Time
		for at.IsZero() {
			select {
			case m := <-told.Messages:
				if m.Action == events.ActionStart && m.Actor.ID == id {
					at = time.Unix(0, m.TimeNano)
				}
			case err := <-told.Err:
				t.Fatal(err)
			}
		}
		eventually(t, "the container is held", func() bool { return rate(l.group(id), l.disk) == "10485760" })
		took = append(took, time.Since(at))
		eventually(t, "the state tells of it", func() bool {
			s := r.k.Status()
			return len(s.Containers) == 1 && len(s.Containers[0].Held) == 2
		})
		s := r.k.Status().Containers[0]
		seen = append(seen, s.Held[0].Since.Sub(at))
		if got := throttle(l.group(id), "read_iops", l.disk); got != "500" || s.Target != "docker:web-1" || s.Held[0].Rule != "web" || s.Held[0].Was != "none" {
			t.Errorf("read_iops %q, state %+v", got, s)
		}
		if _, err := l.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the container is forgotten", func() bool { return len(r.k.Status().Containers) == 0 })
	}
	slices.Sort(took)
	t.Logf("from the start event to the limit in the kernel: median %v, longest %v of %d, goal <= %v: %s", took[len(took)/2], took[len(took)-1], len(took), startGoal, goal.Verdict(took[len(took)-1] <= startGoal))
	t.Logf("from the start event to the first write: %v", seen)
	// A container that no rule matches is left alone.
	id := l.create("other", nil)
	l.start(id)
	eventually(t, "the other is seen", func() bool { return r.k.Status().Others == 1 })
	if got := rate(l.group(id), l.disk); got != "" {
		t.Errorf("a container that no rule matches has %q", got)
	}
}
func (l *lab) testPolicy(t *testing.T) {}
func (l *lab) testRestarts(t *testing.T) {}
