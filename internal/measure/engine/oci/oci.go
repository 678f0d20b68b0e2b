// Package oci is the engine oci: the worker runs in a container of an OCI runtime, crun or runc, without any daemon.
//
// A container's root is an overlay that only the runtime's mount namespace sees, so that it is unmounted with the
// container's last process. The engine finds a runtime that works by running the smallest container, not by versions: some
// runtimes refuse hosts that have both versions of control groups.
package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// An Engine runs the worker with an OCI runtime, without any daemon: process
// isolation, with an overlay of its own as the container's layer.
type Engine struct {
	state    string
	worker   *engine.Installer
	journal  engine.Journal
	lookPath func(string) (string, error)
	// tryTimeout is shorter in tests of runtimes that hang.
	tryTimeout time.Duration

	mu sync.Mutex
	// chosen holds the runtimes that ran a container, by the name asked for: "" is
	// the first that works.
	chosen map[string]*installedRuntime
	notes  []string
	// hung holds the paths of runtimes that did not answer in time.
	hung map[string]bool
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine oci. state is Plimsoll's state directory; lookPath
// finds a runtime by name (exec.LookPath).
func New(state string, worker engine.WorkerSource, lookPath func(string) (string, error)) engine.Engine {
	if abs, err := filepath.Abs(state); err == nil {
		// A runtime changes into the bundle, so a relative path would mean another folder.
		state = abs
	}
	return &Engine{state: state, worker: &engine.Installer{Dir: filepath.Join(state, "cache"), Source: worker}, journal: engine.JournalIn(state, "oci"), lookPath: lookPath, tryTimeout: tryTimeout}
}

// Name implements Engine.
func (o *Engine) Name() string { return "oci" }

// Probe implements Engine.
func (o *Engine) Probe(ctx context.Context) engine.Probe {
	p := engine.Probe{Engine: o.Name(), Places: []place.Kind{place.Layer, place.Bind, place.Tmpfs}}
	if runtime.GOOS != "linux" {
		p.Missing, p.Fix = "an OCI runtime needs Linux", "use the docker engine"
		return p
	}
	if os.Geteuid() != 0 {
		p.Missing, p.Fix = "making a container without a daemon needs root", "run as root, or use the docker engine"
		return p
	}
	// Before the runtimes: otherwise they would be blamed for it.
	if _, err := o.worker.Install(runtime.GOOS, runtime.GOARCH); err != nil {
		p.Missing, p.Fix = "the worker can't be installed: "+err.Error(), engine.InstallFix
		return p
	}
	rt, notes, err := o.runtime(ctx, "")
	p.Notes = notes
	if err != nil {
		p.Missing, p.Fix, p.Failed = err.Error(), o.runtimeFix(), errors.Is(err, errBroken)
		return p
	}
	p.OK, p.Version = true, rt.version
	return p
}

// Open implements Engine.
func (o *Engine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	if err := o.supports(spec); err != nil {
		return nil, err
	}
	rt, _, err := o.runtime(ctx, spec.Runtime)
	if errors.Is(err, errBroken) {
		return nil, fmt.Errorf("open a container: %w", err) // It is installed, but fails.
	}
	if err != nil {
		if spec.Runtime != "" {
			return nil, &refusal.Error{Engine: o.Name(), What: "runtime " + spec.Runtime, Why: err.Error(), Fix: "leave out runtime for the first that works"}
		}
		return nil, &refusal.Error{Engine: o.Name(), What: "runtime", Why: err.Error(), Fix: o.runtimeFix()}
	}
	args := []string{"agent", "--dir", containerDir(spec)}
	if spec.Source != nil {
		args = append(args, "--source", containerDir(spec)+engine.SourceSuffix)
	}
	return o.open(ctx, rt, spec, args)
}

// supports returns an error for what this engine can't do of spec.
func (o *Engine) supports(spec engine.Spec) error {
	no := func(what, reason, fix string) error {
		return &refusal.Error{Engine: o.Name(), What: what, Why: reason, Fix: fix}
	}
	for _, p := range spec.Places() {
		switch p.Kind {
		case place.Layer, place.Bind, place.Tmpfs:
		case place.Dir:
			return no("place dir", "a container sees a host folder through a mount", "use bind")
		case place.Volume:
			return no("place volume", "an OCI runtime by itself has no named volumes", "use bind, or the docker engine")
		default:
			return no("place "+string(p.Kind), "the engine oci does not support it yet", "use bind")
		}
	}
	if err := engine.RefuseWindowsOnly(o.Name(), spec); err != nil {
		return err
	}
	if spec.Limits.IO() && spec.Place.Kind == place.Tmpfs {
		return no("limit on I/O", engine.MemoryPlace, engine.IOLimitsFix)
	}
	if spec.Network != "" && spec.Network != engine.HostNetwork {
		return no("network "+spec.Network, "an OCI runtime sets up no network, so the container has the machine's", "use the docker engine for another network")
	}
	if strings.ContainsAny(spec.Image, ":,\\") {
		return no("image "+spec.Image, "the path has a colon, comma or backslash, which an overlay can't take", "name the image by a path without them")
	}
	if spec.Image != "" && within(o.state, spec.Image) {
		return no("image "+spec.Image, "Plimsoll's own state folder "+o.state+" is in the image's folder, and an overlay can't be mounted into its own lower folder", "choose another state folder with --state")
	}
	if strings.ContainsAny(o.state, ":,\\") {
		return no("overlay", "the state folder "+o.state+" has a colon, comma or backslash in its path", "choose another state folder with --state")
	}
	return nil
}

// within reports whether path lies in folder, links followed.
func within(path, folder string) bool {
	for _, p := range []*string{&path, &folder} {
		if abs, err := filepath.Abs(*p); err == nil {
			*p = abs
		}
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// open makes the bundle of one container and runs args of the worker in it.
func (o *Engine) open(ctx context.Context, rt *installedRuntime, spec engine.Spec, args []string) (*session, error) {
	exe, err := o.worker.Install(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, engine.StateFault(o.state, err)
	}
	b := newBundle(engine.OwnFolder(filepath.Join(o.state, "oci"), spec.ID), exe, spec)
	own := []string{b.dir}
	if spec.Beside != nil {
		b.data, b.beside = spec.Beside.Info().HostPath, true
	} else if spec.Place.Kind == place.Bind {
		parent, err := engine.DataParent(o.state, spec.Place.Path)
		if err != nil {
			return nil, err
		}
		b.data = engine.OwnFolder(parent, spec.ID)
		own = append(own, b.data)
	}
	if spec.Source != nil && spec.Source.Kind == place.Bind {
		parent, err := engine.DataParent(o.state, spec.Source.Path)
		if err != nil {
			return nil, err
		}
		b.source = engine.OwnSource(parent, spec.ID)
		own = append(own, b.source)
	}
	for _, dir := range own[1:] {
		if _, err := os.Lstat(dir); err == nil {
			return nil, fmt.Errorf("make the trial's folder: %s is there already", dir)
		}
	}
	s := &session{engine: o, rt: rt, id: engine.FolderPrefix + spec.ID, entry: spec.ID, own: own, bundle: b}
	s.limits = &engine.IOLimits{Engine: o.Name(), Asked: spec.Limits, Container: s.id, ID: spec.ID}
	if err := o.journal.Note(ctx, spec.ID, engine.SessionRecord{Paths: own, Runtime: rt.path, RuntimeRoot: rt.root}); err != nil {
		return nil, engine.StateFault(o.state, err)
	}
	if err := b.write(args); err != nil {
		return nil, engine.StateFault(o.state, errors.Join(err, s.remove()))
	}
	argv := append([]string{exe, "nsexec", "--overlay", b.overlay(), "--"}, rt.run(b, s.id)...)
	s.Process, err = engine.StartProcess(argv)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	s.info = engine.Info{Runtime: rt.version, Storage: "overlay", HostPath: b.hostPath(spec.Place, b.workDir(), b.data)}
	if spec.Source != nil {
		s.info.SourcePath = b.hostPath(*spec.Source, b.sourceDir(), b.source)
	}
	return s, nil
}

// Sweep implements Engine.
func (o *Engine) Sweep(ctx context.Context) ([]string, error) {
	return o.journal.SweepSessions(ctx, func(ctx context.Context, id string, s engine.SessionRecord) (did []string, err error) {
		rt, container := &installedRuntime{path: s.Runtime, root: s.RuntimeRoot}, engine.FolderPrefix+id
		if rt.knows(container) {
			did = []string{"container " + container}
		}
		return did, errors.Join(rt.bury(ctx, container), engine.RemoveGroups(container))
	})
}
