package docker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

func testDockerEndOfInput(t *testing.T, l *labDaemon) {
	id := testID()
	spec := layerSpec()
	spec.ID = id
	s := l.open(t, l.engine(nil), spec)
	if got := s.State(t.Context()); got != "running" {
		t.Errorf("State() = %q, want running", got)
	}
	s.Stdin().Close()
	if rest, err := io.ReadAll(s.out); err != nil || len(rest) > 0 {
		t.Errorf("after the end of input: %q, %v", rest, err)
	}
	if got := s.State(t.Context()); got != "exit status 0" {
		t.Errorf("State() = %q, want exit status 0", got)
	}
	// It removes itself: nothing here waits for Close.
	l.wantNothing(t, id)
}

func testDockerExit(t *testing.T, l *labDaemon) {
	s := l.open(t, l.engine(nil), layerSpec())
	s.say(t, "stderr first words")
	s.say(t, "stderr "+strings.Repeat("x", 9<<10))
	s.say(t, "stderr last words")
	if got := s.last(t, "exit 3"); got != "exit status 3" {
		t.Errorf("State() = %q, want exit status 3", got)
	}
	if log := s.Log(); len(log) > engine.LogSize || !strings.HasSuffix(log, "last words") {
		t.Errorf("Log() has %d bytes and ends with %q", len(log), log[max(0, len(log)-20):])
	}
}

// testDockerOutOfMemory: a worker that the kernel killed for its memory is said to be out of memory, and for certain
// if the daemon reported it. Docker loses that event now and then: the group goes away while its watcher still reads it.
func testDockerOutOfMemory(t *testing.T, l *labDaemon) {
	spec := layerSpec()
	spec.Limits = limit.Limits{Name: "small", Memory: 64 << 20}
	for range 5 {
		began := time.Now()
		s := l.open(t, l.engine(nil), spec)
		got := s.last(t, "hog 268435456")
		ended := time.Now()
		if !strings.HasPrefix(got, "killed: ") || !strings.Contains(got, "out of memory (memory limit 64 MiB)") {
			t.Errorf("State() = %q, want killed: out of memory (memory limit 64 MiB)", got)
		}
		if l.podman {
			return
		}
		certain := !strings.Contains(got, "perhaps")
		reported := l.outOfMemory(t, s.Info().Container, began, ended)
		switch {
		case certain && len(reported) == 0:
			t.Errorf("State() = %q, but the daemon reported no such event", got)
		case certain:
			return
		// An event that came while State's wait had just begun was there to be seen.
		case len(reported) > 0 && reported[0].Before(ended.Add(-oomWait*4/5)):
			t.Errorf("State() = %q: the event of %v was not seen until %v", got, reported[0], ended)
		}
	}
	t.Error("the daemon reported none of five workers that were out of memory")
}

// outOfMemory returns when the daemon reported that a container was out of memory.
func (l *labDaemon) outOfMemory(t *testing.T, id string, since, until time.Time) (at []time.Time) {
	t.Helper()
	stamp := func(x time.Time) string { return fmt.Sprintf("%d.%09d", x.Unix(), x.Nanosecond()) }
	told := l.api.Events(t.Context(), client.EventsListOptions{
		Since: stamp(since), Until: stamp(until), Filters: make(client.Filters).Add("container", id).Add("event", string(events.ActionOOM)),
	})
	for {
		select {
		case m := <-told.Messages:
			at = append(at, time.Unix(0, m.TimeNano))
		case err := <-told.Err:
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return at
		}
	}
}

func testDockerKilled(t *testing.T, l *labDaemon) {
	s := l.open(t, l.engine(nil), layerSpec())
	p, err := os.FindProcess(s.Info().PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(s.out); len(rest) > 0 {
		t.Errorf("a killed worker said %q", rest)
	}
	if got := s.State(t.Context()); got != "killed: signal 9" {
		t.Errorf("State() = %q, want killed: signal 9", got)
	}
}

func testDockerKilledThroughDaemon(t *testing.T, l *labDaemon) {
	for name, kill := range map[string]func(id string) error{
		"kill": func(id string) error {
			_, err := l.api.ContainerKill(t.Context(), id, client.ContainerKillOptions{Signal: "KILL"})
			return err
		},
		"remove": func(id string) error {
			_, err := l.api.ContainerRemove(t.Context(), id, client.ContainerRemoveOptions{Force: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := l.open(t, l.engine(nil), layerSpec())
			// Podman may look for the container again once it is killed, and so removed.
			if err := kill(s.Info().Container); err != nil && !strings.Contains(err.Error(), "no such container") {
				t.Fatal(err)
			}
			io.ReadAll(s.out)
			got := s.State(t.Context())
			if !strings.HasPrefix(got, "killed: ") && !strings.HasPrefix(got, "container gone: ") {
				t.Errorf("State() = %q, want that it was killed", got)
			}
			t.Log(got)
		})
	}
}

func testDockerNoSpace(t *testing.T, l *labDaemon) {
	s := l.open(t, l.engine(nil), engine.Spec{Place: place.Spec{Kind: place.Tmpfs, Size: 1 << 20}})
	if got := s.say(t, "write 4194304"); !strings.Contains(got, "no space left") {
		t.Errorf("a write beyond the place = %q, want no space left", got)
	}
}
