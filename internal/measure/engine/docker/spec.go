package docker

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/docker/go-units"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"plimsoll/internal/limit/explain"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// places are the kinds of places that a daemon offers.
var places = []place.Kind{place.Layer, place.Bind, place.Volume, place.Tmpfs}

// validID is the form of a session's ID, which is a part of the names of containers and folders.
var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}$`)

// namelessVolume is the name that daemons give to a volume that has none.
var namelessVolume = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkSpec refuses what no daemon can do or what makes no sense, before anything is made.
func checkSpec(spec engine.Spec, d *daemonInfo) error {
	if !validID.MatchString(spec.ID) {
		return fmt.Errorf("session id %q: use letters, digits and dashes", spec.ID)
	}
	no := func(what, reason, fix string) error {
		return &refusal.Error{Engine: "docker", What: what, Why: reason, Fix: fix}
	}
	for _, p := range spec.Places() {
		switch p.Kind {
		case place.Layer, place.Volume, place.Tmpfs:
		case place.Bind:
			if !d.local() {
				return no("place bind", d.Elsewhere+", so the folder can't be checked or cleaned up", "use a volume")
			}
		case place.Dir:
			return no("place dir", "a container doesn't see folders of the host", "use bind, or the engine host")
		case place.Share:
			return no("place share", "shares are not yet provided to containers of a daemon", "use the vm engine")
		default:
			return no(fmt.Sprintf("place %q", p.Kind), "it knows layer, bind, volume and tmpfs", "")
		}
		if p.Size < 0 {
			return fmt.Errorf("place %s: size %d is negative", p.Name, p.Size)
		}
	}
	if err := checkRuntime(spec, d); err != nil {
		return err
	}
	if spec.Volume != "" && spec.Place.Kind != place.Volume {
		return fmt.Errorf("place %s: volume %s is not a place of kind %s", spec.Place.Name, spec.Volume, spec.Place.Kind)
	}
	if namelessVolume.MatchString(spec.Volume) {
		// Podman removes a nameless volume with any container that used it.
		return no("volume "+spec.Volume, "it has no name of its own, and could go away with the container", "name a volume that has one")
	}
	if err := spec.Limits.Check(); err != nil {
		return fmt.Errorf("limits %s: %w", spec.Limits.Name, err)
	}
	if !d.windows() {
		return nil
	}
	return checkWindows(spec, d)
}

// workDir is the folder that the agent works in. In a volume it is a folder of its own, which the agent makes and removes:
// the volume may be a server's export with other files in it, and two sessions may share it.
func workDir(spec engine.Spec, img *workerImage) string {
	return dirIn(spec.Place, dataID(spec), img.data, img)
}

// dataID is the ID of the session whose data a session works with.
func dataID(spec engine.Spec) string {
	if other, ok := spec.Beside.(*session); ok {
		return other.name
	}
	return spec.ID
}

// sourceDir is the folder of the sources' own place.
func sourceDir(spec engine.Spec, img *workerImage) string {
	return dirIn(*spec.Source, spec.ID, img.source(), img)
}

// dirIn is the folder of session id in a place that is mounted on target.
func dirIn(p place.Spec, id, target string, img *workerImage) string {
	if p.Kind == place.Volume {
		return target + img.separator() + engine.FolderPrefix + id
	}
	return target
}

// containerConfig describes the container of a session. devices are the devices of its rates.
func (e *Engine) containerConfig(spec engine.Spec, d *daemonInfo, img *workerImage, devices []explain.Spot, ulimits []*units.Ulimit) (*container.Config, *container.HostConfig, error) {
	cfg := &container.Config{
		Image:       img.id,
		Entrypoint:  []string{img.worker, "agent", "--dir", workDir(spec, img)},
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		// Standard input closes with the first connection, which ends the agent when plimsoll is gone.
		OpenStdin: true, StdinOnce: true,
		// A user's image may name another user and folder.
		User: "0:0", WorkingDir: "/",
		Labels: e.labels(spec.ID),
	}
	if spec.Source != nil {
		cfg.Entrypoint = append(cfg.Entrypoint, "--source", sourceDir(spec, img))
	}
	if d.windows() {
		cfg.User, cfg.WorkingDir = windowsUser, windowsRoot
	}
	if spec.Image != "" {
		cfg.Env = engine.GoVariables
		cfg.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
	}
	host := &container.HostConfig{
		AutoRemove:  true,
		NetworkMode: container.NetworkMode(cmp.Or(spec.Network, "none")),
		// The daemon's log would be written to the disk that is measured.
		LogConfig: container.LogConfig{Type: "none"},
	}
	if err := setLimits(d, spec, devices, host); err != nil {
		return nil, nil, err
	}
	host.Runtime = spec.Runtime
	if d.windows() {
		return cfg, host, nil // Windows has neither resource limits nor capabilities nor seccomp.
	}
	host.Ulimits = ulimits
	if engine.OwnMemlock().Capable {
		// In the machine's own user namespace it lifts the limit, even if the daemon may not raise it.
		host.CapAdd = []string{engine.LockCapability}
	}
	if spec.Seccomp != "" {
		s, err := seccompOption(spec.Seccomp, d)
		if err != nil {
			return nil, nil, err
		}
		host.SecurityOpt = []string{"seccomp=" + s}
	}
	return cfg, host, nil
}

// labels mark what belongs to a session.
func (e *Engine) labels(id string) map[string]string {
	return map[string]string{
		labelSession: id,
		labelOwner:   e.owner.process,
		labelHost:    e.owner.host,
		labelEngine:  e.nonce,
	}
}

// seccompOption turns a profile's path into the API's form: its text for Docker, a path for Podman.
func seccompOption(profile string, d *daemonInfo) (string, error) {
	if profile == seccomp.Unconfined {
		return profile, nil
	}
	_, b, err := seccomp.Load(profile)
	if err != nil {
		return "", err
	}
	if d.Name != "podman" {
		return string(b), nil
	}
	if !d.local() {
		return "", &refusal.Error{Engine: "docker", What: "seccomp profile", Why: "Podman reads profiles from its own machine; " + d.Elsewhere}
	}
	return filepath.Abs(profile)
}

// mountFor describes the mount of a place on target, or nil for the layer. folder is the host folder of a bind; named is a
// user's volume, volume one that was made for the session.
func mountFor(p place.Spec, labels map[string]string, target, folder, named, volume string) *mount.Mount {
	switch p.Kind {
	case place.Bind:
		return &mount.Mount{Type: mount.TypeBind, Source: folder, Target: target}
	case place.Volume:
		m := &mount.Mount{Type: mount.TypeVolume, Source: cmp.Or(named, volume), Target: target}
		if named != "" {
			m.VolumeOptions = &mount.VolumeOptions{NoCopy: true}
		}
		if m.Source == "" {
			// Without a name the volume is removed with the container, also when plimsoll is killed.
			m.VolumeOptions = &mount.VolumeOptions{NoCopy: true, Labels: labels, DriverConfig: &mount.Driver{Name: volumeDriver(p), Options: p.DriverOpts}}
		}
		return m
	case place.Tmpfs:
		return &mount.Mount{Type: mount.TypeTmpfs, Target: target, TmpfsOptions: &mount.TmpfsOptions{SizeBytes: cmp.Or(p.Size, engine.DefaultTmpfs), Mode: 0o755}}
	}
	return nil
}

func volumeDriver(p place.Spec) string { return cmp.Or(p.Driver, "local") }
