package engine

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/place"
	"plimsoll/internal/tail"
	"plimsoll/internal/wire"
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
	// hung holds the paths of those that gave no answer in time.
	hung map[string]bool
}

var _ Engine = (*oci)(nil)

// NewOCI returns the engine oci. state is Plimsoll's state directory; lookPath
// finds a runtime by name (exec.LookPath).
func NewOCI(state string, worker WorkerSource, lookPath func(string) (string, error)) Engine {
	return &oci{state: state, worker: &installer{dir: filepath.Join(state, "cache"), source: worker}, journal: journalIn(state), lookPath: lookPath}
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
	// Before the runtimes, which would be blamed for it.
	if _, err := o.worker.install(runtime.GOOS, runtime.GOARCH); err != nil {
		p.Missing, p.Fix = "the worker can't be installed: "+err.Error(), installFix
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
		real, err := trustedProgram(path)
		if err != nil {
			why := fmt.Sprintf("the runtime %s is not run: %v", name, err)
			notes, tried = append(notes, why), append(tried, why)
			continue
		}
		rt := &ociRuntime{path: real, root: filepath.Join(o.state, "oci", "state")}
		if err := o.tryOnce(ctx, rt, filepath.Base(name)); err != nil {
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

// tryTimeout is how long the smallest container may take to run; an idle machine needs a
// tenth of a second.
const tryTimeout = 10 * time.Second

// errHung says that a runtime gave no answer in time.
var errHung = fmt.Errorf("it did not end within %v", tryTimeout)

// tryOnce finds out the version of rt, which is called name, and whether it runs a container. One that hung is
// not tried again: each cell of a plan would wait for it anew.
func (o *oci) tryOnce(ctx context.Context, rt *ociRuntime, name string) error {
	if o.hung[rt.path] {
		rt.version = name
		return errHung
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tryTimeout, errHung)
	defer cancel()
	var err error
	if rt.version, err = ociVersion(ctx, rt.path, name); err == nil {
		err = o.try(ctx, rt)
	}
	if err != nil && context.Cause(ctx) == errHung {
		if o.hung == nil {
			o.hung = map[string]bool{}
		}
		o.hung[rt.path] = true
		return errHung
	}
	return err
}

// try runs the smallest container: the worker says which program it is and ends, before ctx
// does. A program that ends well and is no runtime says something else.
func (o *oci) try(ctx context.Context, rt *ociRuntime) error {
	program, err := o.worker.source(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := "probe-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s, err := o.open(ctx, rt, Spec{ID: id, Place: place.Spec{Name: "layer", Kind: place.Layer}}, []string{"version"})
	if err != nil {
		return err
	}
	said, state := firstWords(ctx, s.Stdout()), ""
	if said == "" || said == wire.Identity(program) {
		state = s.process.State(ctx)
	}
	hung := context.Cause(ctx) // Too late, or interrupted.
	// There is no data to wait for: what has not ended by now is killed.
	cancel()
	if err := s.Close(ctx); err != nil {
		return err
	}
	switch {
	case said != "" && said != wire.Identity(program):
		return fmt.Errorf("it ran something else than Plimsoll's worker, which said %.80q", said)
	case hung != nil:
		return hung
	case state != "exit status 0":
		return errors.New(strings.TrimSpace(tail.LastWords(s.Log()) + " (" + state + ")"))
	case said == "":
		return errors.New("it ran no worker of Plimsoll's: nothing was said")
	}
	return nil
}

// firstWords reads the first line of r, or as much of it as matters, and lets the rest
// pass by. It gives up when ctx is over.
func firstWords(ctx context.Context, r io.Reader) string {
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReaderSize(r, 256).ReadSlice('\n')
		said <- strings.TrimSpace(string(line))
		io.Copy(io.Discard, r)
	}()
	select {
	case s := <-said:
		return s
	case <-ctx.Done():
		return ""
	}
}

// Open implements Engine.
func (o *oci) Open(ctx context.Context, spec Spec) (Session, error) {
	if err := o.supports(spec); err != nil {
		return nil, err
	}
	rt, _, err := o.runtime(ctx, spec.Runtime)
	if err != nil {
		if spec.Runtime != "" {
			return nil, &Unsupported{o.Name(), "runtime " + spec.Runtime, err.Error(), "leave out runtime for the first that works"}
		}
		return nil, &Unsupported{o.Name(), "runtime", err.Error(), o.runtimeFix()}
	}
	return o.open(ctx, rt, spec, []string{"agent", "--dir", containerDir(spec)})
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
		return no("limit on I/O", noIOLimits, ioLimitsFix)
	}
	if strings.ContainsAny(spec.Image, ":,\\") {
		return no("image "+spec.Image, "the path has a colon, comma or backslash, which an overlay can't take", "name it by another path")
	}
	if spec.Image != "" && within(o.state, spec.Image) {
		return no("image "+spec.Image, "Plimsoll's own state folder "+o.state+" is in it, and an overlay can't be mounted into what lies under it", "choose another with --state")
	}
	if strings.ContainsAny(o.state, ":,\\") {
		return no("overlay", "the state folder "+o.state+" has a colon, comma or backslash in its path", "choose another with --state")
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
func (o *oci) open(_ context.Context, rt *ociRuntime, spec Spec, args []string) (*ociSession, error) {
	exe, err := o.worker.install(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, ownFault(o.state, err)
	}
	b := newBundle(ownFolder(filepath.Join(o.state, "oci"), spec.ID), exe, spec)
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
		return nil, ownFault(o.state, err)
	}
	if err := b.write(args); err != nil {
		return nil, ownFault(o.state, errors.Join(err, s.remove()))
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
		if err := errors.Join(rt.bury(ctx, s.id), removeCgroups(s.id)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed, err := o.journal.clear(l)
		done, errs = append(done, removed...), append(errs, err)
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
	// pidWait is how long Info waits for the container's process id; 0: the constant.
	pidWait time.Duration
}

// pidWait is how long Info waits, if the session says nothing else, for the runtime to write the
// container's process id, which it does just after the worker has begun to speak.
const pidWait = time.Second

// Info implements Session.
func (s *ociSession) Info() Info {
	info := s.info
	info.PID = s.pid()
	return info
}

// pid is the id of the container's first process, 0 as long as there is none.
func (s *ociSession) pid() int {
	for deadline := time.Now().Add(cmp.Or(s.pidWait, pidWait)); ; {
		b, err := os.ReadFile(s.bundle.pidFile())
		if pid, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil {
			return pid
		}
		if time.Now().After(deadline) {
			return 0
		}
		select {
		case <-s.waited:
			return 0
		case <-time.After(time.Millisecond):
		}
	}
}

// State implements Session. A runtime that gave up before the container ran says
// why: a limit that the control groups can't have, for example.
func (s *ociSession) State(ctx context.Context) string {
	state := s.process.State(ctx)
	if _, err := os.Stat(s.bundle.pidFile()); err == nil {
		return state
	}
	if words := tail.LastWords(s.Log()); words != "" && !strings.Contains(state, words) {
		state += ": " + words
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
	_, err := s.engine.journal.clear(leftover{ID: s.entry, Paths: s.own})
	return err
}

// firstLine cuts a runtime's message to what a table has room for.
func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	return line
}
