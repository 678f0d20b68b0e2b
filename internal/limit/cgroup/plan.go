package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// A Want is a target's wanted limits.
type Want struct {
	Change limit.Change
	// Devices are whole disks for rates and latency: the device directly under the file system, not the devices
	// below. None: a change that only removes applies to all devices.
	Devices []device.Number
	// ReadsOnly are those of Devices that get no rates of writing: an overlay's lower folders are on them. Their
	// present rates of writing stay.
	ReadsOnly []device.Number
	// WeightDevices are the disks for weights: those at the bottom of the stack, which have a scheduler. None: the
	// weight applies to all devices.
	WeightDevices []device.Number
}

// check returns what is wrong with w by itself.
func (w Want) check() error {
	if err := w.Change.Check(); err != nil {
		return err
	}
	for _, k := range limit.Keys {
		if (k.Rate() || k == limit.Latency) && w.Change.Set.Has(k) && len(w.Devices) == 0 {
			return &Fault{Keys: []limit.Key{k}, Why: "the limit names no device", Fix: "name a path, volume or device"}
		}
	}
	return nil
}

// Plan compares a target's limits with the wanted ones. It writes nothing. The error is a *Fault if a limit can't be
// had here, and wraps ErrGone if the target's group was removed.
func (h *Host) Plan(t *Target, w Want) (*Diff, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	p := planner{host: h, target: t, want: w, diff: &Diff{host: h}, buf: buffers.Get().(*[]byte)}
	defer buffers.Put(p.buf)
	for _, part := range []struct {
		controller hierarchy.Controller
		keys       []limit.Key
		plan       func(*hierarchy.Group, []limit.Key) error
	}{
		{hierarchy.IO, []limit.Key{limit.ReadBPS, limit.WriteBPS, limit.ReadIOPS, limit.WriteIOPS}, p.rates},
		{hierarchy.IO, []limit.Key{limit.Latency}, p.latency},
		{hierarchy.IO, []limit.Key{limit.Weight}, p.weight},
		{hierarchy.CPU, []limit.Key{limit.CPUs}, p.cpus},
		{hierarchy.CPU, []limit.Key{limit.CPUShares}, p.shares},
		{hierarchy.Memory, []limit.Key{limit.Memory}, p.memory},
	} {
		if err := p.part(part.controller, part.keys, part.plan); err != nil {
			return nil, err
		}
	}
	return p.diff, nil
}

// ErrNotKept is the error where the kernel accepted a value, but the file has another one right after: the kernel
// doesn't keep it, or another program also sets it.
var ErrNotKept = errors.New("the kernel accepted the value, but the file had another one right after")

// buffers are for reading control files: a keeper reads thousands in turn.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// A planner makes one diff.
type planner struct {
	host   *Host
	target *Target
	want   Want
	diff   *Diff
	buf    *[]byte
	// checked are the devices already checked.
	checked []device.Number
}

// part plans the keys of one file, if the change touches them.
func (p *planner) part(c hierarchy.Controller, keys []limit.Key, plan func(*hierarchy.Group, []limit.Key) error) error {
	touched, set := keys[:0:0], false
	for _, k := range keys {
		if p.want.Change.Touches(k) {
			touched, set = append(touched, k), set || p.want.Change.Set.Has(k)
		}
	}
	if len(touched) == 0 {
		return nil
	}
	g, err := p.target.Group(c)
	if err != nil && !set {
		// The target has no group of this controller, so there is nothing to remove: the controller isn't mounted, or
		// the path is not a group of its hierarchy.
		return nil
	}
	if err != nil {
		return &Fault{Keys: touched, Why: err.Error(), Err: err}
	}
	p.diff.top = append(p.diff.top, g)
	return plan(g, touched)
}

// read reads a file of a group. The content is valid until the next read.
func (p *planner) read(g *hierarchy.Group, file string) ([]byte, error) {
	b, err := p.host.io.read(filepath.Join(g.Dir, file), *p.buf)
	if cap(b) > cap(*p.buf) {
		*p.buf = b[:0]
	}
	return b, err
}

// removing reports whether the change sets none of the keys.
func (p *planner) removing(keys ...limit.Key) bool {
	return !slices.ContainsFunc(keys, p.want.Change.Set.Has)
}

// readsOnly reports whether a key is to be set, but not on this device.
func (p *planner) readsOnly(d device.Number, k limit.Key) bool {
	return k.Writes() && p.want.Change.Set.Has(k) && slices.Contains(p.want.ReadsOnly, d)
}

// edit adds an edit.
func (p *planner) edit(g *hierarchy.Group, file string, d device.Number, keys []limit.Key, text, was []string) {
	p.diff.Edits = append(p.diff.Edits, Edit{Group: g.Path, File: filepath.Join(g.Dir, file), Keys: keys, Device: d, Text: text, Was: was, group: g})
}

// note adds a note without duplicates.
func (p *planner) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(p.diff.Notes, s) {
		p.diff.Notes = append(p.diff.Notes, s)
	}
}

// device refuses a device that the kernel would refuse, and checks each only once. It is only called before a write,
// so that an unchanged target costs nothing.
func (p *planner) device(d device.Number, keys ...limit.Key) error {
	if slices.Contains(p.checked, d) {
		return nil
	}
	err := p.host.checkDevice(d)
	var f *Fault
	if errors.As(err, &f) {
		f.Keys = keys
	}
	if err == nil {
		p.checked = append(p.checked, d)
	}
	return err
}

// absent interprets an error of reading a file. It returns nil if the file doesn't exist and nothing is to be set in
// it, or if the group is below the target's own: it was removed meanwhile, since the target's own group, which is
// read first, has the file.
func (p *planner) absent(g *hierarchy.Group, file string, err error, keys []limit.Key) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !slices.ContainsFunc(p.diff.top, func(top *hierarchy.Group) bool { return top.Dir == g.Dir }) {
		return nil
	}
	if !errors.Is(err, ErrGone) && p.removing(keys...) && p.host.exists(g.Dir) {
		return nil
	}
	return p.host.missing(g, file, err, keys...)
}
