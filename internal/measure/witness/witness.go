// Package witness reports what happened below the application in a trial: the disk under the place, and how many bytes
// the disk, the process and its control group counted.
//
// The worker itself reads the counters at both ends of the measured window; the witness knows which of them belong to
// the place.
package witness

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// A Witness remembers what is under each agent's place. It belongs to one goroutine.
type Witness struct {
	fs    device.FS
	known map[subject]seen
	// flushes watches for flushes of other programs.
	flushes flushWatch
}

// A subject is what the witness looks at: an agent's place, or the file or device under test. A line of several stages
// has several.
type subject struct {
	agent  *agent.Agent
	target string
}

// A seen is what is known about one agent's place.
type seen struct {
	stack   *device.Stack
	from    *record.From    // nil: the sources have no place of their own
	devices []device.Number // all of stack
	version int             // of the io controller
	// layers are what the worker's kernel shows below the place; host are the layers of this machine below a virtual
	// machine's disk or share.
	layers, host        []device.Layer
	inMemory, unflushed string
	// unseen says why the layers beneath are unknown.
	unseen      string
	maybeMemory bool
	memory      int64
}

// New returns a witness that looks at the machine through fs.
func New(fs device.FS) *Witness {
	return &Witness{fs: fs, known: map[subject]seen{}}
}

// Before implements trial.Witness.
func (w *Witness) Before(agents []*agent.Agent, target string) func(*record.Trial) {
	// Agents come and go with the blocks; only recent ones are kept.
	if len(w.known) > 256 {
		clear(w.known)
	}
	each := make([]seen, len(agents))
	for i, a := range agents {
		s, ok := w.known[subject{a, target}]
		if !ok {
			s = w.look(a, target)
			w.known[subject{a, target}] = s
		}
		each[i] = s
	}
	others := w.flushes.look(w.fs.Proc, each)
	before, limits, waited, memory := w.throttles(agents), w.limits(agents, each), w.waits(agents), w.reached(agents)
	costs := w.costs(agents)
	rates := others()
	begin, disks := time.Now(), workload.ReadDisks(w.fs.Proc)
	return func(t *record.Trial) {
		end := workload.ReadDisks(w.fs.Proc)
		host, flushes := disks.Until(end)
		w.flushes.last, w.flushes.at = end, time.Now()
		around := time.Since(begin)
		for i, a := range agents {
			fill(t, i, a, each[i], target)
			if i < len(t.Truth) {
				t.Truth[i].Layers = each[i].did(&t.Results[i], a.Session.Info(), counts{host, flushes && disks.Known(), around}, rates)
			}
		}
		addThrottles(t.Results, before, w.throttles(agents))
		addWaits(t.Results, agents, waited, w.waits(agents))
		addLimits(t.Where, limits, w.limits(agents, each))
		addReached(t.Where, memory, w.reached(agents))
		addCosts(t.Where, each, costs, w.costs(agents))
		w.addDirty(t.Where, agents)
		w.addCPUSets(t, agents)
	}
}

// look finds the disk under an agent's place.
func (w *Witness) look(a *agent.Agent, target string) seen {
	info := a.Session.Info()
	var s seen
	var err error
	switch {
	case target != "":
		s.stack, err = w.fs.Of(target)
	case info.Guest:
		s.stack = guestStack(a.Hello.Mount)
	case info.PID == 0:
		// The worker's device numbers have no meaning here.
		s.stack = &device.Stack{Mount: a.Hello.Mount, Why: "the worker does not run on this machine"}
	case info.HostPath != "" && a.Hello.Mount.FSType == "overlay":
		// Only the runtime may understand the name of the upper folder.
		s.stack, err = w.fs.Of(info.HostPath)
	default:
		s.stack, err = w.fs.OfMount(a.Hello.Mount)
	}
	if err != nil {
		s.stack = &device.Stack{Mount: a.Hello.Mount, Why: fmt.Sprintf("the device could not be found: %v", err)}
	}
	s.from = w.lookFrom(a)
	s.devices = devicesOf(s.stack)
	s.layers, s.inMemory, s.unflushed = s.stack.Layers(), s.stack.InMemory(), s.stack.Unflushed()
	s.unseen, s.maybeMemory = s.stack.Unseen()
	switch {
	case info.Guest:
		s.beneathGuest(w.fs, info.HostPath)
	case info.PID > 0 && s.stack.Served():
		s.layers = append(s.layers, w.fs.Volatile(s.layers)...)
	}
	if info.PID > 0 {
		// Without a controller there is no limit.
		s.memory, _ = cgroupio.ReadMemoryLimit(w.fs, info.PID)
	}
	if info.Guest {
		s.memory, s.version = 0, 2 // The groups around the machine are not those of the worker.
		return s
	}
	_, _, s.version, _ = cgroupio.ReadCgroupIO(w.fs, info.PID, s.stack.Device)
	return s
}

// beneathGuest adds what is under the disk or share of a virtual machine on this machine.
func (s *seen) beneathGuest(fs device.FS, hostPath string) {
	if d := s.stack.Device; d != nil {
		// The disk has a cache for the guest if QEMU says so. The guest's kernel counts the flushes that it then sends.
		s.layers = []device.Layer{{Parts: []device.Part{{Name: d.Name, Number: d.Number}}}}
	}
	if hostPath == "" {
		return
	}
	if stack, err := fs.Of(hostPath); err == nil {
		s.host = stack.Layers()
		s.inMemory = stack.InMemory()
		s.unseen, s.maybeMemory = stack.Unseen()
		s.unflushed = cmp.Or(s.unflushed, stack.Unflushed())
		if device.IsMemory(stack.Mount.FSType) {
			s.inMemory = "the host's file is on " + stack.Mount.FSType + " (" + stack.Mount.Point + ")"
		}
	}
}

// did returns what the layers of a place did in a client's window. A virtual machine doesn't see those of its host, so
// they are counted from before the window to after it. So are all layers if the worker can't see the counters.
func (s *seen) did(r *workload.Result, info engine.Info, host counts, others flushRates) []record.Layer {
	var out []record.Layer
	switch {
	case len(r.Disks) > 0 || r.ProcWritten >= 0:
		out = check.Layers(s.layers, r.Disks, r.CountsFlushes, others, r.Elapsed)
	case info.PID > 0 && !info.Guest:
		out = check.Layers(s.layers, host.disks, host.flushes, others, host.window)
	}
	for _, l := range check.Layers(s.host, host.disks, host.flushes, others, host.window) {
		l.Host = true
		out = append(out, l)
	}
	return out
}

// guestStack returns the stack under a worker in a virtual machine: the machine's own disk, whose counters the worker
// reads there.
func guestStack(m device.Mount) *device.Stack {
	s := &device.Stack{Mount: m}
	if name, ok := strings.CutPrefix(m.Source, "/dev/"); ok {
		s.Device = &device.Device{Name: name + " of the guest", Number: m.Number, Stack: []string{name}}
		return s
	}
	s.Why = "the place is no disk of the virtual machine: its kernel counts no bytes for it"
	return s
}

// lookFrom finds what is under an agent's sources, if they have a place of their own.
func (w *Witness) lookFrom(a *agent.Agent) *record.From {
	m := a.Hello.SourceMount
	if m == nil {
		return nil
	}
	info := a.Session.Info()
	f := &record.From{FSType: m.FSType, Path: folder(info.SourcePath, ""), Options: m.Options, Source: m.Source}
	if info.PID == 0 {
		return f
	}
	if info.Guest {
		f.Device = guestStack(*m).Device
		return f
	}
	stack, err := w.fs.OfMount(*m)
	if info.SourcePath != "" && m.FSType == "overlay" {
		stack, err = w.fs.Of(info.SourcePath)
	}
	if err == nil {
		f.Device = stack.Device
	}
	return f
}

// fill adds the evidence of one client to a trial. A failed trial has no results, and so no bytes to compare.
func fill(t *record.Trial, client int, a *agent.Agent, s seen, target string) {
	info := a.Session.Info()
	where := whereOf(s.stack)
	where.Host = info.Host
	where.From, where.Isolation = s.from, info.Isolation
	where.Path = folder(info.HostPath, target)
	if target != "" && t.Spec.Kind == workload.Stage && where.FSType != device.RawBlock {
		where.Path = filepath.Dir(target) // As a rule it is one of several files of a line.
	}
	where.Runtime, where.Daemon, where.Storage = info.Runtime, info.Daemon, info.Storage
	where.Kernel = a.Hello.Kernel
	where.CgroupVersion, where.Memory = s.version, s.memory
	where.InMemory, where.Unflushed = s.inMemory, s.unflushed
	where.JournalInMemory = s.stack.JournalInMemory()
	where.Unseen, where.MaybeMemory = s.unseen, s.maybeMemory
	t.Where = append(t.Where, where)
	if client >= len(t.Results) {
		return
	}
	read, written := int64(-1), int64(-1)
	if contained(info) {
		read, written = groupBytes(&t.Results[client], s.stack.Device)
	}
	t.Truth = append(t.Truth, check.Truth(&t.Results[client], s.stack.Device, s.stack.Why, read, written))
}

// whereOf returns the part of the fingerprint that a stack determines.
func whereOf(s *device.Stack) record.Where {
	return record.Where{FSType: s.Mount.FSType, Options: s.Mount.Options, Source: s.Mount.Source, Device: s.Device}
}

// folder returns the user's folder under a place: the session's own folder in it is temporary. target is the file or
// device under test, if there is one.
func folder(hostPath, target string) string {
	if target != "" {
		return target
	}
	if hostPath == "" || !strings.HasPrefix(filepath.Base(hostPath), "plimsoll-") {
		return "" // A container's layer has no folder on the host.
	}
	return filepath.Dir(hostPath)
}

// contained reports whether the worker has its own control group.
func contained(i engine.Info) bool { return i.Runtime != "" || i.Container != "" }

// groupBytes returns what a client's group moved on dev; -1 if the worker could not see its group.
func groupBytes(r *workload.Result, dev *device.Device) (read, written int64) {
	if dev == nil || r.Cgroup == nil {
		return -1, -1
	}
	i := slices.IndexFunc(r.Cgroup, func(c workload.CgroupDelta) bool { return c.Number == dev.Number })
	if i < 0 {
		return 0, 0
	}
	return r.Cgroup[i].ReadBytes, r.Cgroup[i].WrittenBytes
}
