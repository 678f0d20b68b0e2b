package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/container/dockerapi"
)

// askTimeout is how long one engine may take to answer. A daemon on a busy machine needs
// a second for a list of a thousand containers.
const askTimeout = 10 * time.Second

// Options say where to look. The zero value looks nowhere; Host returns those of this machine.
type Options struct {
	// Proc is the root of procfs; empty is /proc.
	Proc string
	// Daemons are the addresses at which Docker and Podman offer Docker's API. No others are asked.
	Daemons []dockerapi.Address
	// Containerd, Storage, Runc and Crun are the folders of the other engines. Runc and Crun are the --root folders of those
	// runtimes.
	Containerd []ContainerdRoot
	Storage    []Storage
	Runc, Crun []string
	// Podman runs podman, which has the labels if its daemon isn't asked. nil runs nothing.
	Podman Program
	// Systemctl runs systemctl; nil is that of the PATH.
	Systemctl Program
	// Unasked are the reasons why an engine is in none of these fields.
	Unasked []error
}

// Host returns where the engines of this machine are: root's, and this user's rootless ones. env looks up environment variables; nil
// is os.Getenv.
func Host(env func(string) string) Options {
	if env == nil {
		env = os.Getenv
	}
	o := Options{Proc: "/proc"}
	a, err := dockerapi.Find("", env)
	if err != nil {
		o.Unasked = append(o.Unasked, err)
	} else {
		o.Daemons = append(o.Daemons, a)
	}
	run, home := env("XDG_RUNTIME_DIR"), env("HOME")
	if p := env("CONTAINER_HOST"); p != "" { // podman(1)
		o.Daemons = append(o.Daemons, dockerapi.Address{Host: p, Source: "CONTAINER_HOST"})
	} else {
		o.Daemons = append(o.Daemons, dockerapi.Address{Host: "unix:///run/podman/podman.sock"})
		if run != "" {
			o.Daemons = append(o.Daemons, dockerapi.Address{Host: "unix://" + filepath.Join(run, "podman", "podman.sock")})
		}
	}
	for _, state := range []string{"/run/containerd", "/run/k3s/containerd", "/run/docker/containerd/daemon"} {
		r := ContainerdRoot{State: state, Address: filepath.Join(state, "containerd.sock")}
		if state == "/run/docker/containerd/daemon" {
			r.Address = "/run/docker/containerd/containerd.sock"
		}
		o.Containerd = append(o.Containerd, r)
	}
	o.Storage = []Storage{{Graph: "/var/lib/containers/storage", Run: "/run/containers/storage"}}
	o.Runc, o.Crun = []string{"/run/runc"}, []string{"/run/crun"}
	if run != "" && os.Geteuid() != 0 {
		o.Runc, o.Crun = append(o.Runc, filepath.Join(run, "runc")), append(o.Crun, filepath.Join(run, "crun"))
		o.Storage = append(o.Storage, Storage{Graph: filepath.Join(home, ".local/share/containers/storage"), Run: filepath.Join(run, "containers")})
	}
	if _, err := exec.LookPath("podman"); err == nil {
		o.Podman = Exec("podman")
	}
	return o
}

// A Finder finds targets. It is safe for concurrent use.
type Finder struct {
	opt     Options
	sources []source

	// telling counts, by engine, the daemons that report events now.
	telling map[Engine]*atomic.Int32
	// hinted are those daemons that are asked at once when an engine's files show a start.
	hinted hinted
}

// A source is one place that knows containers.
type source interface {
	// what is its name in a sentence.
	what() string
	// engines are the engines whose containers it may have.
	engines() []Engine
	// find returns the containers that match a name, running or not. If the engine is not here the error is an absentError.
	find(ctx context.Context, name string) ([]Target, error)
	// list returns the running containers, and an error for those that it couldn't read.
	list(ctx context.Context) ([]Target, error)
	// watch sends events until ctx is over.
	watch(ctx context.Context, send func(Event))
}

// New makes a Finder. It asks no engine yet.
func New(opt Options) *Finder {
	if opt.Proc == "" {
		opt.Proc = "/proc"
	}
	if opt.Systemctl == nil {
		opt.Systemctl = Exec("systemctl")
	}
	f := &Finder{opt: opt, telling: map[Engine]*atomic.Int32{}}
	for _, e := range engines {
		f.telling[e] = new(atomic.Int32)
	}
	// The source with the most facts comes first.
	seen := map[string]bool{}
	for _, a := range opt.Daemons {
		// Docker's socket may be a link to Podman's (Debian's podman-docker); its events would arrive twice.
		host := a.Host
		if socket, err := filepath.EvalSymlinks(strings.TrimPrefix(host, "unix://")); err == nil {
			host = "unix://" + socket
		}
		if !seen[host] {
			f.sources = append(f.sources, &daemon{f: f, address: a})
		}
		seen[host] = true
	}
	for _, r := range opt.Storage {
		f.sources = append(f.sources, f.storageTree(r))
	}
	for _, r := range opt.Containerd {
		f.sources = append(f.sources, f.containerdTree(r))
	}
	for _, r := range opt.Runc {
		f.sources = append(f.sources, f.runcTree(r))
	}
	for _, r := range opt.Crun {
		f.sources = append(f.sources, f.crunTree(r))
	}
	return f
}

// Close ends connections to daemons.
func (f *Finder) Close() error {
	var errs []error
	for _, s := range f.sources {
		if d, ok := s.(*daemon); ok {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
}

// tells reports whether a daemon of an engine reports events now.
func (f *Finder) tells(e Engine) bool { return f.telling[e].Load() > 0 }

// An answer is the answer of one source.
type answer struct {
	source  source
	targets []Target
	err     error
}

// ask asks sources at the same time. The answers are in the sources' order.
func ask(ctx context.Context, sources []source, f func(context.Context, source) ([]Target, error)) []answer {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make([]answer, len(sources))
	var wg sync.WaitGroup
	for i, s := range sources {
		wg.Go(func() {
			ts, err := f(ctx, s)
			answers[i] = answer{s, ts, err}
		})
	}
	wg.Wait()
	return answers
}

// merge combines the reports of several sources about one container; the first source has the most facts.
func merge(answers []answer) []Target {
	var all []Target
	for _, a := range answers {
	next:
		for _, t := range a.targets {
			for i := range all {
				if all[i].same(t) {
					all[i].adoptFrom(t)
					continue next
				}
			}
			all = append(all, t)
		}
	}
	return all
}

// adoptFrom takes from u, the same container as another source sees it, the facts that t lacks.
func (t *Target) adoptFrom(u Target) {
	if t.cgroupsPath == "" {
		t.cgroupsPath = u.cgroupsPath
	}
	if t.Namespace == "" {
		t.Namespace = u.Namespace
	}
	t.addLabels(u.Labels)
}

// List returns the running containers of all engines on this machine, each once. The error joins the reasons why some may be
// missing; the others are returned with it.
func (f *Finder) List(ctx context.Context) ([]Target, error) {
	answers := ask(ctx, f.sources, func(ctx context.Context, s source) ([]Target, error) { return s.list(ctx) })
	errs := append([]error{}, f.opt.Unasked...)
	for _, a := range answers {
		if a.err != nil && !isAbsent(a.err) {
			errs = append(errs, a.err)
		}
	}
	if ctx.Err() != nil {
		errs = []error{fmt.Errorf("list containers: %w", ctx.Err())}
	}
	if len(errs) == 0 {
		return merge(answers), nil
	}
	return merge(answers), &UnlistedError{errs}
}
