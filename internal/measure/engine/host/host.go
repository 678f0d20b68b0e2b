// Package host is the engine host: the worker is a plain child of plimsoll, without isolation. The other engines are
// compared with it.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// endGrace is how long a worker on the host may take to end.
const endGrace = 2 * time.Second

// An Engine runs the worker as a plain child of plimsoll, without isolation.
type Engine struct {
	state   string
	worker  *engine.Installer
	journal engine.Journal
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine host. state is Plimsoll's state directory.
func New(state string, worker engine.WorkerSource) engine.Engine {
	return &Engine{state, &engine.Installer{Dir: filepath.Join(state, "cache"), Source: worker}, engine.JournalIn(state, "host")}
}

// Name implements Engine.
func (h *Engine) Name() string { return "host" }

// Probe implements Engine.
func (h *Engine) Probe(context.Context) engine.Probe {
	p := engine.Probe{Engine: h.Name(), Places: []place.Kind{place.Dir}}
	if _, err := h.install(); err != nil {
		p.Missing, p.Fix = "the worker can't be installed: "+err.Error(), engine.InstallFix
		return p
	}
	p.OK, p.Version = true, runtime.GOOS+"/"+runtime.GOARCH
	if engine.CanUnshare() {
		p.Places = append(p.Places, place.Tmpfs)
	} else {
		p.Notes = append(p.Notes, "no tmpfs: a mount namespace needs root on Linux")
	}
	return p
}

func (h *Engine) install() (string, error) {
	return h.worker.Install(runtime.GOOS, runtime.GOARCH)
}

// Open implements Engine.
func (h *Engine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	if err := h.supports(spec); err != nil {
		return nil, err
	}
	exe, err := h.install()
	if err != nil {
		return nil, engine.StateFault(h.state, err)
	}
	parent, err := engine.DataParent(h.state, spec.Place.Path)
	if err != nil {
		return nil, err
	}
	dir := engine.OwnFolder(parent, spec.ID)
	s := &session{dirs: []string{dir}, journal: h.journal, id: spec.ID}
	if spec.Beside != nil {
		dir, s.dirs = spec.Beside.Info().HostPath, nil
	}
	argv := []string{exe, "agent", "--dir", dir}
	var tmpfs []string
	if spec.Place.Kind == place.Tmpfs {
		tmpfs = append(tmpfs, "--tmpfs", engine.TmpfsSize(spec.Place)+":"+dir)
	}
	from := ""
	if spec.Source != nil {
		if parent, err = engine.DataParent(h.state, spec.Source.Path); err != nil {
			return nil, err
		}
		from = engine.OwnSource(parent, spec.ID)
		s.dirs = append(s.dirs, from)
		argv = append(argv, "--source", from)
		if spec.Source.Kind == place.Tmpfs {
			tmpfs = append(tmpfs, "--tmpfs", engine.TmpfsSize(*spec.Source)+":"+from)
		}
	}
	if err := h.journal.Note(ctx, spec.ID, engine.SessionRecord{Paths: s.dirs}); err != nil {
		return nil, engine.StateFault(h.state, err)
	}
	for i, d := range s.dirs {
		if err := os.Mkdir(d, 0o700); err != nil {
			s.dirs = s.dirs[:i] // A folder that existed before stays.
			return nil, engine.StateFault(h.state, errors.Join(fmt.Errorf("make the trial's folder: %w", err), s.remove()))
		}
	}
	if len(tmpfs) > 0 {
		argv = slices.Concat([]string{exe, "nsexec"}, tmpfs, []string{"--"}, argv)
	}
	s.Process, err = engine.StartProcess(argv)
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	s.info = engine.Info{PID: s.Cmd.Process.Pid}
	if spec.Place.Kind == place.Dir {
		s.info.HostPath = dir
	}
	if spec.Source != nil && spec.Source.Kind == place.Dir {
		s.info.SourcePath = from
	}
	if err := s.enclose(h.Name(), spec); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// enclose gives a session with limits on I/O a control group of its own. The agent has not begun to work, and all that it
// starts is in the group, too.
func (s *session) enclose(name string, spec engine.Spec) error {
	s.limits = &engine.IOLimits{Engine: name, Asked: spec.Limits, ID: spec.ID}
	if !spec.Limits.IO() {
		s.limits.Asked = limit.Limits{}
		return nil
	}
	groups, err := cgroup.Open(device.Host())
	if err == nil {
		s.limits.Own, err = groups.Make(engine.FolderPrefix+spec.ID, hierarchy.IO)
	}
	if err == nil {
		err = s.limits.Own.Add(s.info.PID)
	}
	if err != nil {
		return s.limits.No(s.limits.Asked.Keys(limit.Key.IO), "a control group for the worker can't be made: "+err.Error(), "run as root, or use the oci or docker engine")
	}
	return nil
}

// supports returns an error for what the host can't do of spec.
func (h *Engine) supports(spec engine.Spec) error {
	no := func(what, reason, fix string) error {
		return &refusal.Error{Engine: h.Name(), What: what, Why: reason, Fix: fix}
	}
	for _, p := range spec.Places() {
		switch p.Kind {
		case place.Dir:
		case place.Tmpfs:
			if !engine.CanUnshare() {
				return no("place tmpfs", "mounting one needs root on Linux", "run as root")
			}
		default:
			return no("place "+string(p.Kind), "only containers have such a place", "use dir or tmpfs")
		}
	}
	for _, k := range limit.Keys {
		if !k.IO() && spec.Limits.Has(k) {
			return no("limit "+string(k), "the worker runs outside any container", "the oci and docker engines limit memory, cpus and cpu_shares")
		}
	}
	if err := engine.RefuseWindowsOnly(h.Name(), spec); err != nil {
		return err
	}
	if spec.Limits.IO() && spec.Place.Kind == place.Tmpfs {
		return no("limit on I/O", engine.MemoryPlace, "use another place")
	}
	if spec.Network != "" && spec.Network != engine.HostNetwork {
		return no("network "+spec.Network, "the worker uses the machine's network", "use the docker engine for another network")
	}
	if spec.Image != "" {
		return no("image", "the engine host runs no images", "use the oci or docker engine")
	}
	if spec.Runtime != "" {
		return no("runtime", "the engine host runs no containers", "use the oci or docker engine")
	}
	if spec.Seccomp != "" {
		return no("seccomp profile", "only containers have one", "use the oci or docker engine")
	}
	return nil
}

// Sweep implements Engine.
func (h *Engine) Sweep(ctx context.Context) ([]string, error) {
	return h.journal.SweepSessions(ctx, func(_ context.Context, id string, _ engine.SessionRecord) ([]string, error) {
		// A session with limits on I/O had a group, with the worker in it.
		return nil, engine.RemoveGroups(engine.FolderPrefix + id)
	})
}

// session is an agent on the host.
type session struct {
	*engine.Process
	id string
	// dirs are the folders made for it.
	dirs    []string
	journal engine.Journal
	limits  *engine.IOLimits
	info    engine.Info
}

// Info implements Session.
func (s *session) Info() engine.Info { return s.info }

// IOLimits implements Limited.
func (s *session) IOLimits() *engine.IOLimits { return s.limits }

// Close implements Session.
func (s *session) Close(ctx context.Context) error {
	return s.CloseOnce(func() error {
		s.End(ctx, endGrace)
		return s.remove()
	})
}

// remove removes the session's group, its folder and its journal entry, in this order.
func (s *session) remove() error {
	if s.limits != nil && s.limits.Own != nil {
		if err := engine.RemoveGroups(engine.FolderPrefix + s.id); err != nil {
			return err
		}
	}
	return s.journal.Clear(s.id, s.dirs...)
}

var _ engine.GoneChecker = (*Engine)(nil)

// Gone implements engine.GoneChecker: the worker has to exist and be executable.
func (h *Engine) Gone(context.Context, engine.Spec) error { return h.worker.Gone(h.state) }
