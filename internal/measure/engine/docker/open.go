package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/go-units"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/internal/text/refusal"
)

// Open implements Engine.
func (e *Engine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	s, err := e.openSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (e *Engine) openSession(ctx context.Context, spec engine.Spec) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	api, d, err := e.connect(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("engine docker: %w", err)
	}
	if err := checkSpec(spec, d); err != nil {
		return nil, err
	}
	if err := e.enter(spec.ID); err != nil {
		return nil, fmt.Errorf("engine docker: %w", err)
	}
	s := &session{e: e, api: api, name: spec.ID, memory: spec.Limits.Memory, limits: &engine.IOLimits{Engine: e.Name(), Asked: spec.Limits, ID: spec.ID}, log: lastbytes.Buffer{Max: engine.LogSize}}
	if err := s.open(ctx, d, spec); err != nil {
		// A cancelled Open also removes what it made.
		if cerr := s.Close(ctx); cerr != nil {
			err = errors.Join(err, cerr)
		}
		var u *refusal.Error
		if errors.As(err, &u) {
			return nil, u
		}
		return nil, fmt.Errorf("engine docker: %w", headline{err})
	}
	return s, nil
}

// A headline is an error whose text is cut to a readable length: Podman quotes mount options of kilobytes.
type headline struct{ error }

// maxHeadline is in bytes.
const maxHeadline = 600

// Error implements error.
func (h headline) Error() string { return lastbytes.Cut(h.error.Error(), maxHeadline) }

// Unwrap returns the error with its full text.
func (h headline) Unwrap() error { return h.error }

// open makes everything of a session; Close removes as much of it as was made.
func (s *session) open(ctx context.Context, d *daemonInfo, spec engine.Spec) error {
	img, err := s.e.image(ctx, s.api, d, spec.Image)
	if err != nil {
		return err
	}
	if other, ok := spec.Beside.(*session); ok {
		s.beside, spec.Volume = true, other.volume
	}
	if d.local() {
		s.bound = boundFolders(spec)
	}
	if s.folder, s.sourceFolder, err = s.e.makeFolders(ctx, spec, s.bound); err != nil {
		return err
	}
	for _, folder := range s.folders() {
		if uid, gid := containerRoot(s.api.DaemonHost(), d); uid != 0 && os.Geteuid() == 0 {
			if err := os.Chown(folder, uid, gid); err != nil {
				return fmt.Errorf("give the folder %s to the containers' root user: %w", folder, err)
			}
		}
	}
	if s.limits.Devices, err = limitedDevices(d, spec, s.folder); err != nil {
		return err
	}
	if spec.Volume != "" {
		// A daemon would make a volume of that name.
		if _, err := s.api.VolumeInspect(ctx, spec.Volume, client.VolumeInspectOptions{}); err != nil {
			return fmt.Errorf("volume %s: %w", spec.Volume, daemonErr(err))
		}
	} else if spec.Place.Kind == place.Volume && d.Name == "podman" {
		if s.volume, err = s.podmanVolume(ctx, spec.Place, containerName(spec.ID)); err != nil {
			return err
		}
	}
	if spec.Source != nil && spec.Source.Kind == place.Volume && d.Name == "podman" {
		if s.sourceVolume, err = s.podmanVolume(ctx, *spec.Source, containerName(spec.ID)+engine.SourceSuffix); err != nil {
			return err
		}
	}
	for vanished := -1; ; {
		tried, ulimits := s.e.limits()
		err := s.launch(ctx, d, spec, img, ulimits)
		if err == nil || !s.e.again(err, tried, &vanished) {
			if err == nil {
				s.describe(ctx, d, spec, img)
			}
			return err
		}
		if err := s.drop(ctx); err != nil {
			return err
		}
	}
}

// podmanVolume makes a volume before its container: Podman ignores the options of a volume that is made with the container.
func (s *session) podmanVolume(ctx context.Context, p place.Spec, name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	v, err := s.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Driver: volumeDriver(p), DriverOpts: p.DriverOpts, Labels: s.e.labels(s.name)})
	if err != nil {
		return "", fmt.Errorf("make volume %s: %w", name, daemonErr(err))
	}
	return v.Volume.Name, nil
}

// launch makes the container, connects to it and starts it.
func (s *session) launch(ctx context.Context, d *daemonInfo, spec engine.Spec, img *workerImage, ulimits []*units.Ulimit) error {
	if err := s.create(ctx, d, spec, img, ulimits); err != nil {
		return err
	}
	if img.copy != nil {
		files, err := workerTar(img.copy, img.worker, img.data)
		if err != nil {
			return err
		}
		if _, err := s.api.CopyToContainer(ctx, s.id, client.CopyToContainerOptions{DestinationPath: img.root(), Content: files}); err != nil {
			return fmt.Errorf("put the worker into the container: %w", daemonErr(err))
		}
	}
	// The events outlive Open's context.
	wctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.watch = listenFor(wctx, s.api, s.id)
	at, err := s.api.ContainerAttach(ctx, s.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		// Podman prepares the container here, and its client sees only the status 409; starting the container gives the
		// reason.
		_, serr := s.api.ContainerStart(ctx, s.id, client.ContainerStartOptions{})
		if dockerapi.NoContainer(serr) {
			return fmt.Errorf("connect to the container: %w: %w", errVanished, daemonErr(err))
		}
		if serr != nil {
			err = serr
		}
		return fmt.Errorf("connect to the container: %w", daemonErr(err))
	}
	s.stream(at.HijackedResponse)
	if _, err := s.api.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
		return runtimeErr(fmt.Errorf("start the container: %w", startErr(err)), spec, d)
	}
	return nil
}

// errVanished is the error of a container that could not start and that Podman has removed before it was asked why.
var errVanished = errors.New("the container could not start, and was removed before the reason was known")

// startErr makes the error of a failed start clearer if the reason is known.
func startErr(err error) error {
	if strings.Contains(err.Error(), "no space left on device") {
		return fmt.Errorf("no space left where the daemon keeps containers: %w", err)
	}
	return daemonErr(err)
}

// drop removes a container that did not start, for another try.
func (s *session) drop(ctx context.Context) error {
	if s.conn.Conn != nil {
		s.conn.Close()
		s.stdout.Close()
		<-s.streamed
		s.conn = client.HijackedResponse{}
	}
	err := s.e.removeContainer(ctx, s.api, s.id, s.watch)
	if err == nil {
		s.id = "" // Otherwise Close tries again.
	}
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	return err
}

// create makes the container. If the image was removed meanwhile, or a dead session has a container of the same name, it
// repairs that, once each.
func (s *session) create(ctx context.Context, d *daemonInfo, spec engine.Spec, img *workerImage, ulimits []*units.Ulimit) error {
	err := ctx.Err()
	if err != nil {
		return err
	}
	for range 3 {
		var res client.ContainerCreateResult
		if res, err = s.tryCreate(ctx, d, spec, img, ulimits); err == nil {
			s.id = res.ID
			for _, w := range res.Warnings {
				fmt.Fprintf(&s.log, "daemon: %s\n", w)
			}
			return ctx.Err()
		}
		var u *refusal.Error
		switch {
		case errors.As(err, &u):
			return err
		case spec.Image == "" && imageGone(err):
			fresh, ierr := s.e.image(ctx, s.api, d, "")
			if ierr != nil {
				return ierr
			}
			*img = *fresh
		case cerrdefs.IsConflict(err) || strings.Contains(err.Error(), "already in use"):
			if cerr := s.makeRoom(ctx, d); cerr != nil {
				return cerr
			}
		default:
			return runtimeErr(fmt.Errorf("make the container: %w", s.createErr(err, spec.Place)), spec, d)
		}
	}
	return fmt.Errorf("make the container: %w", daemonErr(err))
}

func (s *session) tryCreate(ctx context.Context, d *daemonInfo, spec engine.Spec, img *workerImage, ulimits []*units.Ulimit) (client.ContainerCreateResult, error) {
	cfg, host, err := s.e.containerConfig(spec, d, img, s.limits.Devices, ulimits)
	if err != nil {
		return client.ContainerCreateResult{}, err
	}
	if m := mountFor(spec.Place, s.e.labels(spec.ID), img.data, s.folder, spec.Volume, s.volume); m != nil {
		host.Mounts = append(host.Mounts, *m)
	}
	if spec.Source != nil {
		if m := mountFor(*spec.Source, s.e.labels(spec.ID), img.source(), s.sourceFolder, "", s.sourceVolume); m != nil {
			host.Mounts = append(host.Mounts, *m)
		}
	}
	// A daemon finishes making a container even if its client disconnects, and only its answer has the id. So create waits
	// for the answer, and a cancelled Open fails after it.
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	return s.api.ContainerCreate(cctx, client.ContainerCreateOptions{Config: cfg, HostConfig: host, Name: containerName(spec.ID)})
}

// createTimeout is longer than a healthy daemon ever takes to make a container.
const createTimeout = 30 * time.Second

// createErr recognizes the error of a folder that the daemon doesn't see, because its files may differ from this process's
// although its socket is here, and that of a volume driver that it doesn't have.
func (s *session) createErr(err error, p place.Spec) error {
	if driver := volumeDriver(p); p.Kind == place.Volume && strings.Contains(err.Error(), driver) && strings.Contains(err.Error(), "looking up volume plugin") {
		u := &refusal.Error{Engine: "docker", What: "volume driver " + driver, Why: err.Error(), Fix: "install the plugin, or choose the driver local"}
		if driver == "plimsoll" {
			u.Fix = "start plimsoll daemon --volumes"
		}
		return u
	}
	if s.folder != "" && strings.Contains(err.Error(), s.folder) && (strings.Contains(err.Error(), "does not exist") || strings.Contains(err.Error(), "no such file")) {
		return &refusal.Error{Engine: "docker", What: "place bind", Why: "the daemon does not see the folder " + s.folder + ": its files are not those of this machine", Fix: "use a volume, or the layer"}
	}
	if s.folder != "" && strings.Contains(err.Error(), "permission denied") && strings.Contains(err.Error(), filepath.Dir(s.folder)) {
		return &refusal.Error{Engine: "docker", What: "place bind", Why: "the daemon runs as another user, who has no access to the folder " + s.folder, Fix: "give the place a path that this user can reach"}
	}
	return daemonErr(err)
}

// makeRoom removes the container that has this session's name, if its owner is gone.
func (s *session) makeRoom(ctx context.Context, d *daemonInfo) error {
	name := containerName(s.name)
	in, err := s.api.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("container %s: %w", name, daemonErr(err))
	}
	var labels map[string]string
	if in.Container.Config != nil {
		labels = in.Container.Config.Labels
	}
	if !s.e.owner.dead(labels) {
		return fmt.Errorf("a container named %s exists already; if it is not in use: %s rm -f %s", name, d.Name, name)
	}
	return s.e.removeContainer(ctx, s.api, in.Container.ID, nil)
}

// describe fills in what was started. What it can't find out stays empty.
func (s *session) describe(ctx context.Context, d *daemonInfo, spec engine.Spec, img *workerImage) {
	s.limits.Container = s.id
	s.info = engine.Info{Host: d.host(), Daemon: d.title(), Storage: d.storage(), Container: s.id, Runtime: d.runtime("")}
	in, err := s.api.ContainerInspect(ctx, s.id, client.ContainerInspectOptions{})
	if err != nil {
		// It has ended already; State says why.
		return
	}
	c := in.Container
	if c.HostConfig != nil {
		s.info.Runtime, s.info.Isolation = d.runtime(c.HostConfig.Runtime), isolationOf(c.HostConfig, spec)
	}
	for _, m := range c.Mounts {
		// A nameless volume is removed with its container, but a little later.
		if spec.Place.Kind == place.Volume && spec.Volume == "" && sameInContainer(m.Destination, img.data, img) {
			s.volume = m.Name
		}
		if spec.Source != nil && spec.Source.Kind == place.Volume && sameInContainer(m.Destination, img.source(), img) {
			s.sourceVolume = m.Name
		}
	}
	if !d.local() {
		return
	}
	if c.State != nil {
		s.info.PID = hostPID(c.State.Pid, s.id)
	}
	s.info.HostPath = s.hostPath(c, spec.Place, img, img.data, s.folder, dataID(spec))
	if spec.Source != nil {
		s.info.SourcePath = s.hostPath(c, *spec.Source, img, img.source(), s.sourceFolder, spec.ID)
	}
}
