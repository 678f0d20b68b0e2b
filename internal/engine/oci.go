package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/place"
)

// ociGrace is how long a container may take to end by itself.
const ociGrace = 5 * time.Second

// An oci engine runs the worker with an OCI runtime, without any daemon: process
// isolation, with an overlay of its own as the container's layer.
type oci struct {
	state    string
	worker   *installer
	journal  journal
	lookPath func(string) (string, error)

	mu sync.Mutex
	// chosen holds the runtimes that ran a container, by the name asked for: "" is
	// the first that works.
	chosen map[string]*ociRuntime
	notes  []string
}

var _ Engine = (*oci)(nil)

// NewOCI returns the engine oci. state is Plimsoll's state directory; lookPath
// finds a runtime by name (exec.LookPath).
func NewOCI(state string, worker WorkerSource, lookPath func(string) (string, error)) Engine {
	return &oci{state: state, worker: &installer{dir: filepath.Join(state, "cache"), source: worker}, journal: journal{filepath.Join(state, "sessions")}, lookPath: lookPath}
}

// Name implements Engine.
func (o *oci) Name() string { return "oci" }

// Probe implements Engine.
func (o *oci) Probe(ctx context.Context) Probe {
	p := Probe{Engine: o.Name(), Places: []place.Kind{place.Layer, place.Bind, place.Tmpfs}}
	if runtime.GOOS != "linux" {
		p.Missing, p.Fix = "an OCI runtime needs Linux", "use the docker engine"
		return p
	}
	if os.Geteuid() != 0 {
		p.Missing, p.Fix = "making a container without a daemon needs root", "run as root, or use the docker engine"
		return p
	}
	rt, notes, err := o.runtime(ctx, "")
	p.Notes = notes
	if err != nil {
		p.Missing, p.Fix = err.Error(), o.runtimeFix()
		return p
	}
	p.OK, p.Version = true, rt.version
	return p
}

// runtimeFix says what to do where no runtime works.
func (o *oci) runtimeFix() string {
	for _, name := range ociRuntimes {
		if _, err := o.lookPath(name); err != nil {
			return "install runc or crun ('apt-get install runc')"
		}
	}
	return "mend what they say; in a container it takes control groups that can be written, and the right to make mounts"
}

// runtime returns the runtime to use: the one asked for, or the first that ran a
// container. Only success is remembered.
func (o *oci) runtime(ctx context.Context, want string) (*ociRuntime, []string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rt := o.chosen[want]; rt != nil {
		return rt, o.notes, nil
	}
	names := ociRuntimes
	if want != "" {
		names = []string{want}
	}
	var notes, tried []string
	for _, name := range names {
		path, err := o.lookPath(name)
		if err != nil {
			tried = append(tried, name+" is not installed")
			continue
		}
		rt := &ociRuntime{path: path, root: filepath.Join(o.state, "oci", "state"), version: ociVersion(ctx, path)}
		if err := o.try(ctx, rt); err != nil {
			why := fmt.Sprintf("%s is installed but can't run a container here: %s", rt.version, firstLine(err.Error()))
			notes, tried = append(notes, why), append(tried, why)
			continue
		}
		if o.chosen == nil {
			o.chosen = map[string]*ociRuntime{}
		}
		o.chosen[want] = rt
		if want == "" {
			o.notes = notes
		}
		return rt, notes, nil
	}
	return nil, notes, errors.New(strings.Join(tried, "; "))
}

// try runs the smallest container: the worker says its version and ends.
func (o *oci) try(ctx context.Context, rt *ociRuntime) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id := "probe-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s, err := o.open(ctx, rt, Spec{ID: id, Place: place.Spec{Name: "layer", Kind: place.Layer}}, []string{"version"})
	if err != nil {
		return err
	}
	state := s.process.State(ctx)
	log := s.Log()
	// The context may be over because the runtime hangs.
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	if err := s.Close(closing); err != nil {
		return err
	}
	if state != "exit status 0" {
		return errors.New(strings.TrimSpace(runtimeWords(log) + " (" + state + ")"))
	}
	return nil
}

// Open implements Engine.
func (o *oci) Open(ctx context.Context, spec Spec) (Session, error) {
	if err := o.supports(spec); err != nil {
		return nil, err
	}
	rt, _, err := o.runtime(ctx, spec.Runtime)
	if err != nil {
		return nil, &Unsupported{o.Name(), "runtime", err.Error(), o.runtimeFix()}
	}
	return o.open(ctx, rt, spec, []string{"agent", "--dir", containerData})
}

// supports says what this engine can't do of spec.
func (o *oci) supports(spec Spec) error {
	no := func(what, reason, fix string) error { return &Unsupported{o.Name(), what, reason, fix} }
	switch spec.Place.Kind {
	case place.Layer, place.Bind, place.Tmpfs:
	case place.Dir:
		return no("place dir", "a container sees a host folder through a mount", "use bind")
	case place.Volume:
		return no("place volume", "an OCI runtime by itself has no named volumes", "use bind, or the docker engine")
	default:
		return no("place "+string(spec.Place.Kind), "it is not offered yet", "use bind")
	}
	if spec.Limits.IO() {
		return no("limit on I/O", "limits on devices come with 'plimsoll limit'", "limit memory, cpus or cpu_shares")
	}
	if strings.ContainsAny(spec.Image, ":,\\") {
		return no("image "+spec.Image, "the path has a colon, comma or backslash, which an overlay can't take", "name it by another path")
	}
	if strings.ContainsAny(o.state, ":,\\") {
		return no("overlay", "the state folder "+o.state+" has a colon, comma or backslash in its path", "choose another with --state")
	}
	return nil
}

// open makes the bundle of one container and runs args of the worker in it.
func (o *oci) open(_ context.Context, rt *ociRuntime, spec Spec, args []string) (*ociSession, error) {
	exe, err := o.worker.install(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	b := newBundle(filepath.Join(o.state, "oci", folderPrefix+spec.ID), exe, spec)
	own := []string{b.dir}
	if spec.Place.Kind == place.Bind {
		parent, err := o.bindParent(spec.Place.Path)
		if err != nil {
			return nil, err
		}
		b.data = ownFolder(parent, spec.ID)
		if _, err := os.Lstat(b.data); err == nil {
			return nil, fmt.Errorf("make the trial's folder: %s is there already", b.data)
		}
		own = append(own, b.data)
	}
	s := &ociSession{engine: o, rt: rt, id: folderPrefix + spec.ID, entry: spec.ID, own: own, bundle: b}
	note := leftover{ID: spec.ID, Engine: o.Name(), Owner: Self(), Paths: own, Runtime: rt.path, RuntimeRoot: rt.root}
	if err := o.journal.note(note); err != nil {
		return nil, err
	}
	if err := b.write(args); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	argv := append([]string{exe, "nsexec", "--overlay", b.overlay(), "--"}, rt.run(b, s.id)...)
	s.process, err = startProcess(argv)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	s.info = Info{Runtime: rt.version, Storage: "overlay", HostPath: b.hostPath()}
	return s, nil
}

// bindParent returns the host folder that a bind place stands in.
func (o *oci) bindParent(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(o.state, "data")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	return path, nil
}

// Sweep implements Engine.
func (o *oci) Sweep(ctx context.Context) ([]string, error) {
	stale, err := o.journal.stale(o.Name())
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	for _, l := range stale {
		rt := &ociRuntime{path: l.Runtime, root: l.RuntimeRoot}
		s := &ociSession{engine: o, rt: rt, id: folderPrefix + l.ID, entry: l.ID, own: l.Paths}
		if rt.knows(s.id) {
			done = append(done, "container "+s.id)
		}
		if err := errors.Join(rt.remove(ctx, s.id), removeCgroups(s.id)); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, p := range l.Paths {
			done = append(done, "folder "+p)
		}
		errs = append(errs, s.remove())
	}
	return done, errors.Join(errs...)
}

// ociSession is an agent in a container of an OCI runtime.
type ociSession struct {
	*process
	engine *oci
	rt     *ociRuntime
	bundle *bundle
	// id names the container, entry the journal entry.
	id, entry string
	// own lists the folders made for it.
	own []string
}

// Info implements Session. The runtime writes the pid once the container runs.
func (s *ociSession) Info() Info {
	info := s.info
	if b, err := os.ReadFile(s.bundle.pidFile()); err == nil {
		info.PID, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	return info
}

// State implements Session. A runtime that gave up before the container ran says
// why: a limit that the control groups can't have, for example.
func (s *ociSession) State(ctx context.Context) string {
	state, log := s.process.State(ctx), s.Log()
	if _, err := os.Stat(s.bundle.pidFile()); err != nil && log != "" {
		state += ": " + runtimeWords(log)
	}
	return state
}

// Close implements Session.
func (s *ociSession) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		s.stdin.Close()
		select {
		case <-s.waited:
		case <-time.After(ociGrace):
		case <-ctx.Done():
		}
		// The runtime may be about to make the container when it is killed: what it
		// made is looked for before its end and after.
		err := s.rt.remove(context.WithoutCancel(ctx), s.id)
		s.end(ctx, ociGrace)
		if err == nil {
			err = s.rt.remove(context.WithoutCancel(ctx), s.id)
		}
		if err == nil {
			err = removeCgroups(s.id)
		}
		if err == nil {
			err = s.remove()
		}
		s.closeErr = err
	})
	return s.closeErr
}

// remove removes the session's folders and then its journal entry.
func (s *ociSession) remove() error {
	for _, p := range s.own {
		if err := removeOwn(p); err != nil {
			return fmt.Errorf("remove what session %s made: %w", s.entry, err)
		}
	}
	return s.engine.journal.forget(s.entry)
}

// firstLine cuts a runtime's message to what a table has room for.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	return line
}
