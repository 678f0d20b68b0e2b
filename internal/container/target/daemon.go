package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
)

// A daemon is a source that speaks Docker's API: Docker or Podman.
type daemon struct {
	f       *Finder
	address dockerapi.Address

	// mu is held briefly; the daemon is never asked under it.
	mu  sync.Mutex
	api *client.Client
	is  *dockerapi.Daemon
	// asking is the question without an answer so far, nil if there is none.
	asking *question
}

func (d *daemon) what() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.called(d.is)
}

// called is what for a daemon with these facts, nil if they are unknown.
func (d *daemon) called(is *dockerapi.Daemon) string {
	name := "the daemon"
	if is != nil {
		name = engineOf(is).title()
	}
	return name + " at " + d.address.Host
}

// engines returns both: only the daemon's answer says which one it is. /run/docker.sock may be Podman's.
func (d *daemon) engines() []Engine { return []Engine{Docker, Podman} }

// expected returns the more likely engine, judged by the address.
func (d *daemon) expected() Engine {
	if strings.Contains(d.address.Host, "podman") {
		return Podman
	}
	return Docker
}

// engineOf returns the engine that the daemon says it is.
func engineOf(is *dockerapi.Daemon) Engine {
	if is.Name == "podman" {
		return Podman
	}
	return Docker
}

// A question is a request for the daemon's facts about itself. All callers share the one in progress; each waits for its answer
// until its own context ends.
type question struct {
	answered chan struct{}
	cancel   context.CancelFunc
	api      *client.Client
	is       *dockerapi.Daemon
	err      error
}

// connect returns a client of the daemon and the daemon's facts about itself. With afresh it asks again, because another daemon may
// listen by now.
func (d *daemon) connect(ctx context.Context, afresh bool) (*client.Client, *dockerapi.Daemon, error) {
	d.mu.Lock()
	if d.is != nil && !afresh {
		defer d.mu.Unlock()
		return d.api, d.is, nil
	}
	q, err := d.question(ctx)
	d.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-q.answered:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if q.err != nil {
		return nil, nil, d.missing(q.err)
	}
	return q.api, q.is, nil
}

// question returns the question in progress, or asks a new one. mu is held.
func (d *daemon) question(ctx context.Context) (*question, error) {
	if d.asking != nil {
		return d.asking, nil
	}
	if d.api == nil {
		api, err := dockerapi.Open(d.address)
		if err != nil {
			return nil, err
		}
		d.api = api
	}
	// The first caller may have less time than later ones; Ask has bounds of its own.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q := &question{answered: make(chan struct{}), cancel: cancel, api: d.api}
	d.asking = q
	go func() {
		defer cancel()
		q.is, q.err = dockerapi.Ask(ctx, q.api, d.address.Source)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.asking == q {
			d.asking, d.is = nil, q.is // nil after an error
		}
		close(q.answered)
	}()
	return q, nil
}

// missing returns why the daemon can't be asked. A missing default socket means that the engine is absent.
func (d *daemon) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.expected() == Podman {
		err = fmt.Errorf("there is no socket of Podman at %s; start it: systemctl start podman.socket: %w", strings.TrimPrefix(d.address.Host, "unix://"), fs.ErrNotExist)
	}
	if d.address.Source == "" {
		return absentError{err}
	}
	return err
}

func (d *daemon) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asking != nil {
		d.asking.cancel()
	}
	if d.api == nil {
		return nil
	}
	err := d.api.Close()
	d.api, d.is, d.asking = nil, nil, nil
	return err
}

// find implements source. The daemon interprets names and beginnings of ids; one that fits several containers is looked up in the
// list.
func (d *daemon) find(ctx context.Context, name string) ([]Target, error) {
	api, is, err := d.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	t, err := d.inspect(ctx, api, is, name)
	switch {
	case err == nil:
		return []Target{t}, nil
	case cerrdefs.IsNotFound(err) && !strings.Contains(err.Error(), "ultiple"):
		return nil, nil
	case ctx.Err() != nil || client.IsErrConnectionFailed(err):
		return nil, d.failed(ctx, err)
	}
	list, lerr := api.ContainerList(ctx, client.ContainerListOptions{All: true})
	if lerr != nil {
		return nil, d.failed(ctx, err)
	}
	var ids []string
	for _, c := range list.Items {
		if strings.HasPrefix(c.ID, name) || slices.Contains(c.Names, "/"+name) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil, d.failed(ctx, err)
	}
	return d.inspectAll(ctx, api, is, ids)
}

// list implements source.
func (d *daemon) list(ctx context.Context) ([]Target, error) {
	api, is, err := d.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	return d.listBy(ctx, api, is, nil)
}

// listBy lists the running containers that pass filters.
func (d *daemon) listBy(ctx context.Context, api *client.Client, is *dockerapi.Daemon, filters client.Filters) ([]Target, error) {
	list, err := api.ContainerList(ctx, client.ContainerListOptions{Filters: filters})
	if err != nil {
		return nil, d.failed(ctx, err)
	}
	var ids []string
	for _, c := range list.Items {
		ids = append(ids, c.ID)
	}
	ts, err := d.inspectAll(ctx, api, is, ids)
	return slices.DeleteFunc(ts, func(t Target) bool { return !t.Running }), err
}

// failed returns why the daemon didn't answer after it had answered before.
func (d *daemon) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s does not answer in time: %w", d.what(), ctx.Err())
	}
	if !client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%s: %w", d.what(), err)
	}
	if _, _, aerr := d.connect(ctx, true); aerr != nil {
		err = aerr
	}
	return err
}

// inspectors is how many containers are inspected in parallel: a list has no process ids. A daemon takes about a millisecond for
// each.
const inspectors = 8

// inspectAll inspects containers. It leaves out those that were removed meanwhile.
func (d *daemon) inspectAll(ctx context.Context, api *client.Client, is *dockerapi.Daemon, ids []string) ([]Target, error) {
	ts, errs := make([]Target, len(ids)), make([]error, len(ids))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(inspectors, len(ids)) {
		wg.Go(func() {
			for i := range next {
				ts[i], errs[i] = d.inspect(ctx, api, is, ids[i])
			}
		})
	}
	for i := range ids {
		next <- i
	}
	close(next)
	wg.Wait()
	var found []Target
	var bad []error
	for i, err := range errs {
		switch {
		case err == nil:
			found = append(found, ts[i])
		case !dockerapi.NoContainer(err):
			bad = append(bad, fmt.Errorf("container %.12s: %w", ids[i], err))
		}
	}
	return found, errors.Join(bad...)
}

// inspect inspects one container.
func (d *daemon) inspect(ctx context.Context, api *client.Client, is *dockerapi.Daemon, name string) (Target, error) {
	// Between the daemon's answer and the look at /proc the process may have ended and the container may have started again: then
	// inspect asks again.
	var t Target
	var pid int
	for range 3 {
		res, err := api.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
		if err != nil {
			return Target{}, err
		}
		c := res.Container
		t = d.target(c, is)
		if !t.Running || t.Elsewhere != "" {
			return t, nil
		}
		pid = c.State.Pid
		ok, err := d.f.adopt(&t, pid, 0)
		if err != nil {
			return Target{}, fmt.Errorf("%s: %w", t.title(), err)
		}
		if ok {
			return t, nil
		}
		// A container of Podman without groups (--cgroups=disabled) is recognized by its start time.
		if ticks, err := d.f.start(c.State.Pid); err == nil && d.f.startedAbout(ticks, c.State.StartedAt) {
			if ok, err := d.f.adopt(&t, c.State.Pid, ticks); ok || err != nil {
				return t, err
			}
		}
	}
	t.Running = false
	t.unseen = d.f.unseen(pid)
	t.Notes = append(t.Notes, fmt.Sprintf("%s says that it runs, but %s", d.what(), t.unseen))
	return t, nil
}

// target converts the daemon's description of a container.
func (d *daemon) target(c container.InspectResponse, is *dockerapi.Daemon) Target {
	t := Target{
		Kind: Container, Engine: engineOf(is), ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"),
		Host: d.address.Host, OS: is.OS, Elsewhere: is.Elsewhere,
	}
	if t.Name == "" {
		t.Name = t.ID
	}
	if c.State != nil {
		t.State, t.Running = string(c.State.Status), c.State.Running
	}
	if c.Config != nil {
		t.Image, t.Labels = c.Config.Image, c.Config.Labels
	}
	for _, m := range c.Mounts {
		mount := Mount{Source: m.Source, Destination: m.Destination, Driver: m.Driver}
		if m.Type == "volume" {
			mount.Volume = m.Name
		}
		t.Mounts = append(t.Mounts, mount)
	}
	if c.HostConfig != nil {
		// Docker's Mounts lack those of --tmpfs; Podman has them in both.
		for _, path := range slices.Sorted(maps.Keys(c.HostConfig.Tmpfs)) {
			if path = strings.TrimSuffix(path, "/"); path != "" && !slices.ContainsFunc(t.Mounts, func(m Mount) bool { return m.Destination == path }) {
				t.Mounts = append(t.Mounts, Mount{Destination: path})
			}
		}
	}
	return t
}
