// Package witness tells what happened below the application in a trial: which
// disk the place stands on, and how many bytes reached it, the process and its
// control group (DESIGN.md, rule 6 of measurement).
//
// The counters themselves are read by the worker at both ends of the measured window;
// the witness knows which of them belong to the place.
package witness

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/agent"
	"plimsoll/internal/check"
	"plimsoll/internal/device"
	"plimsoll/internal/device/cgroupio"
	"plimsoll/internal/engine"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

// A Witness remembers what each agent's place stands on. It belongs to one goroutine.
type Witness struct {
	fs    device.FS
	known map[*agent.Agent]seen
}

// A seen is what was found out about one agent's place.
type seen struct {
	stack   *device.Stack
	version int // of the io controller
}

// New returns a witness that looks at the machine through fs.
func New(fs device.FS) *Witness {
	return &Witness{fs: fs, known: map[*agent.Agent]seen{}}
}

// Before implements trial.Witness.
func (w *Witness) Before(agents []*agent.Agent, target string) func(*record.Trial) {
	a := agents[0]
	s, ok := w.known[a]
	if !ok {
		s = w.look(a, target)
		// Agents come and go with the blocks; a handful is kept.
		if len(w.known) > 256 {
			clear(w.known)
		}
		w.known[a] = s
	}
	return func(t *record.Trial) { w.fill(t, a, s) }
}

// look finds the disk under an agent's place.
func (w *Witness) look(a *agent.Agent, target string) seen {
	info := a.Session.Info()
	var s seen
	var err error
	switch {
	case target != "":
		s.stack, err = w.fs.Of(target)
	case info.PID == 0:
		// The worker's device numbers mean nothing here.
		s.stack = &device.Stack{Mount: mountOf(a), Why: "the worker does not run on this machine"}
	case info.HostPath != "" && a.Hello.Mount.FSType == "overlay":
		// The upper folder may be named in a way that only the runtime understands.
		s.stack, err = w.fs.Of(info.HostPath)
	default:
		s.stack, err = w.fs.OfMount(a.Hello.Mount)
	}
	if err != nil {
		s.stack = &device.Stack{Mount: mountOf(a), Why: fmt.Sprintf("the device could not be found: %v", err)}
	}
	_, _, s.version, _ = cgroupio.ReadCgroupIO(w.fs, info.PID, s.stack.Device)
	return s
}

// mountOf is the mount as the worker sees it.
func mountOf(a *agent.Agent) device.Mount {
	m := a.Hello.Mount
	return device.Mount{FSType: m.FSType, Options: m.Options, Source: m.Source, Point: m.Point}
}

// fill puts the evidence into a trial.
func (w *Witness) fill(t *record.Trial, a *agent.Agent, s seen) {
	info := a.Session.Info()
	read, written := int64(-1), int64(-1)
	if contained(info) {
		read, written = groupBytes(t.Results, s.stack.Device)
	}
	t.Truth = check.Truth(t.Results, s.stack.Device, s.stack.Why, read, written)
	t.Where = s.stack.Where()
	t.Where.Path = folder(info.HostPath, t.Spec.Job.Filename)
	t.Where.Runtime, t.Where.Daemon, t.Where.Storage = info.Runtime, info.Daemon, info.Storage
	t.Where.Kernel = a.Hello.Kernel
	t.Where.CgroupVersion = s.version
}

// folder is the user's folder under a place: the session's own folder in it comes
// and goes. target is the file or device under test, if there is one.
func folder(hostPath, target string) string {
	if target != "" {
		return target
	}
	if hostPath == "" || !strings.HasPrefix(filepath.Base(hostPath), "plimsoll-") {
		return "" // A container's layer: nobody's folder.
	}
	return filepath.Dir(hostPath)
}

// contained reports whether the worker has a control group of its own.
func contained(i engine.Info) bool { return i.Runtime != "" || i.Container != "" }

// groupBytes sums what the clients' groups moved on dev; -1 where a worker
// could not see its group.
func groupBytes(results []workload.Result, dev *record.Device) (read, written int64) {
	if dev == nil || len(results) == 0 {
		return -1, -1
	}
	for _, r := range results {
		if r.Cgroup == nil {
			return -1, -1
		}
		i := slices.IndexFunc(r.Cgroup, func(c workload.CgroupDelta) bool { return c.Major == dev.Major && c.Minor == dev.Minor })
		if i >= 0 {
			read += r.Cgroup[i].ReadBytes
			written += r.Cgroup[i].WrittenBytes
		}
	}
	return read, written
}
