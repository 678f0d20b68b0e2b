package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// probeTimeout bounds a probe. Its container starts in well under a second on an
// idle machine.
const probeTimeout = 30 * time.Second

// Probe implements Engine. It starts one container for a moment.
func (e *Engine) Probe(ctx context.Context) engine.Probe {
	p := engine.Probe{Engine: e.Name()}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	api, d, err := e.connect(ctx, true)
	if err != nil {
		p.Missing, p.Fix = err.Error(), "check the daemon and DOCKER_HOST"
		var m *dockerapi.Missing
		if errors.As(err, &m) {
			p.Missing, p.Fix, p.Failed = m.Missing, m.Fix, m.There
		}
		p.Failed = p.Failed || errors.Is(err, context.DeadlineExceeded)
		return p
	}
	p.Version, p.Notes = d.title(), daemonNotes(d)
	if _, err := e.worker(d.OS, d.Arch); err != nil {
		p.Missing, p.Fix = err.Error(), "build plimsoll with a worker for "+d.OS+"/"+d.Arch
		if d.windows() {
			p.Fix = "use plimsoll.exe, which carries it, on Windows; or switch the daemon to Linux containers"
		}
		return p
	}
	if d.windows() {
		return e.probeWindows(p, d)
	}
	if err := e.tryContainer(ctx, api, d); err != nil {
		p.Failed, p.Missing = true, "a container can't be run: "+err.Error()
		p.Fix = "look at the daemon's log (journalctl -u docker) and try: " + d.Name + " info"
		return p
	}
	p.OK = true
	for _, k := range places {
		if k != place.Bind || d.local() {
			p.Places = append(p.Places, k)
		}
	}
	return p
}

// tryContainer opens a session, waits for the agent's first line and removes everything, also the image if this session
// imported it.
func (e *Engine) tryContainer(ctx context.Context, api *client.Client, d *daemonInfo) error {
	img, err := e.image(ctx, api, d, "")
	if err != nil {
		return err
	}
	if img.imported {
		defer func() {
			// If a session uses the image by now, it stays.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultCloseTimeout)
			defer cancel()
			api.ImageRemove(ctx, img.id, client.ImageRemoveOptions{PruneChildren: true})
		}()
	}
	id := fmt.Sprintf("probe-%s-%d", e.nonce, time.Now().UnixNano())
	s, err := e.openSession(ctx, engine.Spec{ID: id, Place: place.Spec{Name: "probe", Kind: place.Layer}})
	if err != nil {
		return err
	}
	hello := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(s.Stdout()).ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		hello <- err
	}()
	select {
	case err = <-hello:
		if err != nil {
			err = fmt.Errorf("the worker did not answer: %s; %s", s.State(ctx), s.Log())
		}
	case <-ctx.Done():
		err = fmt.Errorf("the worker did not answer: %w; %s", ctx.Err(), s.Log())
	}
	return errors.Join(err, s.Close(ctx))
}

// daemonNotes are facts about a daemon.
func daemonNotes(d *daemonInfo) []string {
	i := d.Info
	system := []string{d.OS + "/" + d.Arch, "kernel " + i.KernelVersion}
	if i.OperatingSystem != "" {
		system = append([]string{i.OperatingSystem}, system...)
	}
	notes := []string{"daemon " + i.Name + ": " + strings.Join(system, ", ")}
	if i.CgroupVersion != "" {
		notes = append(notes, fmt.Sprintf("cgroup v%s, driver %s", i.CgroupVersion, i.CgroupDriver))
	}
	notes = append(notes, "storage "+d.storage()+" in "+i.DockerRootDir, "runtime "+d.runtime(i.DefaultRuntime))
	if len(i.SecurityOptions) > 0 {
		notes = append(notes, "security "+strings.Join(i.SecurityOptions, " "))
	}
	if d.Name == "podman" {
		notes = append(notes, "this is Podman behind Docker's API")
	}
	if d.Elsewhere != "" {
		notes = append(notes, "not on this machine: "+d.Elsewhere)
	}
	return notes
}
