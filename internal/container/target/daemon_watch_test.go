package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/container/dockerapi"
)

// TestLostAtOnce: a daemon that ends its events is reported as Lost at once, even while a request to it is unanswered.
func TestLostAtOnce(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Ostype", "linux")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/_ping"):
		case strings.HasSuffix(path, "/version"):
			fmt.Fprint(w, `{"Version": "27", "Os": "linux"}`)
		case strings.HasSuffix(path, "/info"):
			fmt.Fprint(w, `{"OSType": "linux"}`)
		case strings.HasSuffix(path, "/events"):
			fmt.Fprint(w, `{"Type": "container", "Action": "start", "Actor": {"ID": "aaaaaaaaaaaa", "Attributes": {"name": "web"}}}`)
			w.(http.Flusher).Flush()
			select {
			case <-asked:
			case <-release:
			}
		default:
			close(asked)
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	f := finder(t, Options{Daemons: []dockerapi.Address{{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://"), Source: "DOCKER_HOST"}}})
	d := f.sources[0].(*daemon)
	api, is, err := d.connect(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- d.follow(t.Context(), api, is, func(Event) {}) }()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		t.Fatal("it follows events that have ended")
	}
	if took := time.Since(began); err == nil || errors.Is(err, context.Canceled) || took >= askTimeout {
		t.Errorf("follow() = %v after %v; an answer is waited for no longer than %v", err, took, askTimeout)
	}
}

// TestLostUnderItsName: a daemon that ends its events after another caller could not ask it is Lost under the name under which it was
// Connected. It had another, so that the daemon of plimsoll went on to say that it is connected.
func TestLostUnderItsName(t *testing.T) {
	end := make(chan struct{})
	var down atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.45")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/events"):
			w.(http.Flusher).Flush()
			<-end
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.HasSuffix(path, "/version"):
			fmt.Fprint(w, `{"Version": "27", "Os": "linux"}`)
		case strings.HasSuffix(path, "/info"):
			fmt.Fprint(w, `{"OSType": "linux"}`)
		}
	}))
	t.Cleanup(s.Close)
	f := finder(t, Options{Daemons: []dockerapi.Address{{Host: "tcp://" + strings.TrimPrefix(s.URL, "http://"), Source: "DOCKER_HOST"}}})
	d := f.sources[0].(*daemon)
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan Event, 8)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watch(ctx, func(e Event) { events <- e })
	}()
	connected := <-events
	down.Store(true)
	if _, _, err := d.connect(t.Context(), true); err == nil {
		t.Error("the daemon answers")
	}
	close(end)
	lost := <-events
	if connected.Type != Connected || lost.Type != Lost || connected.Source != lost.Source {
		t.Errorf("%s of %q, then %s of %q: want connected and lost of one name", connected.Type, connected.Source, lost.Type, lost.Source)
	}
	cancel()
	<-watched
}
