// Package plugin is Docker's volume plugin: it answers the requests of a Docker Engine, or of Podman, on a socket.
//
// The protocol is version 1 of https://docs.docker.com/engine/extend/plugins_volume: a POST for each verb, with JSON both ways. A daemon that
// finds the socket in /run/docker/plugins asks there for "docker volume create -d plimsoll".
//
// Easily got wrong: dockerd waits. It allows two minutes for Create and Mount and one for the others, holds up other volumes meanwhile, and gives up
// without saying so. And an error is status 500 with a text in Err, which the user sees. No request is passed on to Docker: dockerd may be
// waiting for the plugin as it starts.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"plimsoll/internal/provide/volume"
)

// Name is that of the driver, and of its socket.
const Name = "plimsoll"

// contentType is that of version 1 of plugins (pkg/plugins/transport in moby).
const contentType = "application/vnd.docker.plugins.v1.1+json"

// maxRequest bounds a request, in bytes.
const maxRequest = 1 << 20

// readLimit bounds the time in which a request arrives.
const readLimit = 30 * time.Second

// A Plugin answers with volumes.
type Plugin struct {
	Volumes *volume.Volumes
	// Log gets what went wrong, which Docker may not show.
	Log func(string)
}

// request has the fields of all requests.
type request struct {
	Name string
	ID   string
	Opts map[string]string
}

// A listed volume is one in an answer.
type listed struct {
	Name       string
	Mountpoint string  `json:",omitempty"`
	CreatedAt  string  `json:",omitempty"`
	Status     *status `json:",omitempty"`
}

// answer has the fields of all answers.
type answer struct {
	Err          string    `json:",omitempty"`
	Mountpoint   string    `json:",omitempty"`
	Volume       *listed   `json:",omitempty"`
	Volumes      *[]listed `json:",omitempty"`
	Implements   []string  `json:",omitempty"`
	Capabilities *scope    `json:",omitempty"`
}

type scope struct{ Scope string }

// Handler answers the requests.
func (p *Plugin) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, verb := range map[string]func(context.Context, request) (answer, error){
		"/Plugin.Activate":           p.activate,
		"/VolumeDriver.Create":       p.create,
		"/VolumeDriver.Remove":       p.remove,
		"/VolumeDriver.Mount":        p.mount,
		"/VolumeDriver.Unmount":      p.unmount,
		"/VolumeDriver.Path":         p.path,
		"/VolumeDriver.Get":          p.get,
		"/VolumeDriver.List":         p.list,
		"/VolumeDriver.Capabilities": p.capabilities,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, path, verb) })
	}
	return mux
}

// serve reads a request, answers it, and writes the answer. A request that Docker gives up is completed: it would repeat it, or ask for the opposite.
func (p *Plugin) serve(w http.ResponseWriter, r *http.Request, path string, verb func(context.Context, request) (answer, error)) {
	q, err := read(w, r)
	var a answer
	if err == nil {
		a, err = verb(context.WithoutCancel(r.Context()), q)
	}
	w.Header().Set("Content-Type", contentType)
	if err != nil {
		a = answer{Err: err.Error()}
		if path != "/VolumeDriver.Get" { // Docker asks for volumes of other drivers too.
			p.logf("%s %s: %v", path, q.Name, err)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}
	_ = json.NewEncoder(w).Encode(a) // Docker has gone.
}

// read reads a request. Fields that it doesn't know are a later version's.
func read(w http.ResponseWriter, r *http.Request) (q request, err error) {
	// A client that stops in the middle would hold up the daemon's end.
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(readLimit)); err != nil {
		return q, err
	}
	err = json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&q)
	tooLarge, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, io.EOF): // Docker sends nothing with Activate.
	case large:
		return q, fmt.Errorf("the request has more than %d bytes", tooLarge.Limit)
	case err != nil:
		return q, fmt.Errorf("the request is not JSON of Docker's volume plugins: %w", err)
	}
	return q, control.SetReadDeadline(time.Time{})
}

func (p *Plugin) logf(format string, args ...any) {
	if p.Log != nil {
		p.Log(fmt.Sprintf(format, args...))
	}
}

func (p *Plugin) activate(context.Context, request) (answer, error) {
	return answer{Implements: []string{"VolumeDriver"}}, nil
}

func (p *Plugin) capabilities(context.Context, request) (answer, error) {
	return answer{Capabilities: &scope{"local"}}, nil
}

func (p *Plugin) create(ctx context.Context, q request) (answer, error) {
	where, profile, err := p.Volumes.Options(q.Opts)
	if err != nil {
		return answer{}, err
	}
	_, _, err = p.Volumes.Create(ctx, q.Name, where, profile)
	return answer{}, err
}

// isAnonymous finds the names that Docker makes up for volumes without one (stringid.GenerateRandomID in moby).
var isAnonymous = regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString

// remove keeps the data for a while, but not that of an anonymous volume: it went with its container, and nobody knows its name.
func (p *Plugin) remove(ctx context.Context, q request) (answer, error) {
	return answer{}, p.Volumes.Remove(ctx, q.Name, isAnonymous(q.Name))
}

func (p *Plugin) mount(ctx context.Context, q request) (answer, error) {
	m, err := p.Volumes.Mount(ctx, q.Name, q.ID)
	if err == nil && m.Note != "" {
		p.logf("volume %s: %s", q.Name, m.Note)
	}
	return answer{Mountpoint: m.Root}, err
}

func (p *Plugin) unmount(ctx context.Context, q request) (answer, error) {
	return answer{}, p.Volumes.Unmount(ctx, q.Name, q.ID)
}

func (p *Plugin) path(_ context.Context, q request) (answer, error) {
	v, err := p.Volumes.Get(q.Name)
	if err != nil {
		return answer{}, err
	}
	root, err := p.Volumes.Root(v)
	return answer{Mountpoint: root}, err
}

func (p *Plugin) get(ctx context.Context, q request) (answer, error) {
	v, err := p.Volumes.Get(q.Name)
	if err != nil {
		return answer{}, err
	}
	l := listed{Name: v.Name, CreatedAt: v.Created.Format(time.RFC3339)}
	// Damaged data is described, not an error: the volume can be removed.
	l.Mountpoint, _ = p.Volumes.Root(v)
	if l.Status, err = p.status(ctx, v); err != nil {
		return answer{}, err
	}
	return answer{Volume: &l}, nil
}

// list answers with all volumes. One that can't be read doesn't hide the others.
func (p *Plugin) list(context.Context, request) (answer, error) {
	all, err := p.Volumes.List()
	if err != nil {
		p.logf("list: %v", err)
	}
	list := make([]listed, 0, len(all))
	for _, v := range all {
		// Without the mountpoint: 4,000 look-ups would take long, and Docker asks for it by Get.
		list = append(list, listed{Name: v.Name, CreatedAt: v.Created.Format(time.RFC3339)})
	}
	return answer{Volumes: &list}, nil
}
