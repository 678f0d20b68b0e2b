package hold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// places returns the data that a limit is for.
func (h *Holder) places(s *Scope, where Where) ([]Place, error) {
	t := s.Target
	switch {
	case where.Device != "":
		return h.device(where.Device)
	case t.Kind == target.Volume:
		path, err := volumeData(t)
		if err != nil {
			return nil, err
		}
		return h.hostPlace("volume "+t.Name, path)
	case where.Volume != "":
		for _, m := range t.Mounts {
			if m.Volume == where.Volume {
				return h.inside(t, "volume "+m.Volume, m.Destination)
			}
		}
		return nil, usage.Errorf("%s has no volume %s%s", t.Ref(), clean.Name(where.Volume), volumesOf(t))
	case where.Path != "":
		return h.named(t, where.Path)
	case t.PID == 0:
		return nil, usage.Errorf("%s has no files of its own: name the limit's data with --path or --device", t.Ref())
	}
	return h.all(s)
}

// device returns a block device of the host.
func (h *Holder) device(path string) ([]Place, error) {
	if err := BlockDevice(path); err != nil {
		return nil, err
	}
	e, err := h.node(path)
	if err != nil {
		return nil, err
	}
	return hostPlaceOf(path, path, e)
}

// BlockDevice returns an error if a path that a user named is no block device of the host.
func BlockDevice(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noDevice(path)
	case err != nil:
		return err
	case st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0:
		return usage.Errorf("%s is not a block device; plimsoll limit explain %s shows the one that it is on", clean.Name(path), clean.Shell(path))
	}
	return nil
}

// noDevice is the error of a device that doesn't exist.
func noDevice(path string) error {
	if node := "/dev/" + path; !strings.Contains(path, "/") {
		if _, ok := device.BlockNode(node); ok {
			return usage.Errorf("there is no device %s; did you mean %s?", clean.Name(path), node)
		}
	}
	return usage.Errorf("there is no device %s (any more); name one of this machine's, such as /dev/sda", clean.Name(path))
}

// A deviceNode identifies a device's node by its numbers too: if the name passes to another device, it is another node.
type deviceNode struct {
	path   string
	number device.Number
}

// node explains a device of the host. The explanation may be a moment old, and must not be changed.
func (h *Holder) node(path string) (*explain.Explanation, error) {
	look := func() (*explain.Explanation, error) { return h.Explain.Path(path) }
	number, ok := device.BlockNode(path)
	if !ok {
		return look()
	}
	return h.explained.Of(deviceNode{path, number}, look)
}

// hostPlace returns a path of the host.
func (h *Holder) hostPlace(name, path string) ([]Place, error) {
	e, err := h.Explain.Path(path)
	if err != nil {
		return nil, err
	}
	return hostPlaceOf(name, path, e)
}

func hostPlaceOf(name, path string, e *explain.Explanation) ([]Place, error) {
	if !e.Possible {
		return nil, &refusal.Error{Act: refusal.Limited, What: name, Why: e.Why, Fix: e.Instead}
	}
	return []Place{{name, path, e}}, nil
}

// inside returns a path of a container.
func (h *Holder) inside(t target.Target, name, path string) ([]Place, error) {
	g, err := h.look(t, name, path)
	if err != nil {
		return nil, err
	}
	if e := g.Explanation; !e.Possible {
		return nil, &refusal.Error{Act: refusal.Limited, What: name, Why: e.Why, Fix: e.Instead}
	}
	return []Place{g}, nil
}

func (h *Holder) look(t target.Target, name, path string) (Place, error) {
	if t.Rootfs != "" {
		e, err := h.beneath(t, path)
		if err != nil {
			return Place{}, fmt.Errorf("%s: %w", t.Ref(), err)
		}
		return Place{name, path, e}, nil
	}
	id, err := inroot.MountID(inroot.Of(t.PID), path)
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", t.Ref(), err)
	}
	e, err := h.Explain.Inside(path, t.PID, id)
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", t.Ref(), err)
	}
	return Place{name, path, e}, nil
}

// all returns a container's own layer and everything mounted into it. Data that can't be limited is omitted with a
// note, unless that is all of it.
func (h *Holder) all(s *Scope) ([]Place, error) {
	t := s.Target
	var list []Place
	var first *refusal.Error
	add := func(name, path string) error {
		g, err := h.look(t, name, path)
		if err != nil {
			return err
		}
		e := g.Explanation
		if e.Possible {
			list = append(list, g)
			return nil
		}
		s.Unlimited = append(s.Unlimited, (&refusal.Error{Act: refusal.Limited, What: name, Why: e.Why, Fix: e.Instead}).Error())
		if first == nil {
			first = &refusal.Error{Act: refusal.Limited, What: t.Ref() + ", " + name, Why: e.Why, Fix: e.Instead}
		}
		return nil
	}
	root := "its own layer"
	if t.Kind != target.Container {
		root = "/"
	}
	if err := add(root, "/"); err != nil {
		return nil, err
	}
	for _, m := range t.Mounts {
		if err := add(mountName(m), m.Destination); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 && first != nil {
		return nil, first
	}
	return list, nil
}

// volumesOf lists the volumes of a container, for an error.
func volumesOf(t target.Target) string {
	var names []string
	for _, m := range t.Mounts {
		if m.Volume != "" {
			names = append(names, m.Volume)
		}
	}
	if len(names) == 0 {
		return ": it has none; name the limit's data with --path"
	}
	return ": it has " + strings.Join(names, ", ")
}

// Devices returns the devices that rates apply to, each once, in the order of the places.
func (s *Scope) Devices() []explain.Spot {
	var list []explain.Spot
	for _, g := range s.Places {
		for _, d := range g.Explanation.Hard {
			i := slices.IndexFunc(list, func(o explain.Spot) bool { return o.Number == d.Number })
			if i < 0 {
				list = append(list, d)
			} else if !d.ReadsOnly {
				// One of the mounts on it is written to.
				list[i] = d
			}
		}
	}
	return list
}

// ratesOn returns the limits for a device, without write limits if nothing is written to it.
func ratesOn(d explain.Spot, l limit.Limits) limit.Limits {
	if d.ReadsOnly {
		return l.Without(limit.WriteBPS, limit.WriteIOPS)
	}
	return l
}

// Latency returns why a latency target has no effect here. The kernel acts on it where requests are queued
// (rq_qos_throttle in block/blk-mq.c), but accepts it on a device without queues as well.
func (s *Scope) Latency() error {
	for _, d := range s.Devices() {
		if !d.MQ {
			return &refusal.Error{Act: refusal.Limited, What: "latency on " + d.Name, Why: d.Name + " has no request queues of its own (it is not a blk-mq device), where the kernel would hold it",
				Fix: "give the neighbours rates there, or name with --device a disk beneath, which plimsoll limit explain shows"}
		}
	}
	return nil
}

// Weight returns why a weight has no effect here: on one of the disks no group is charged for any of the I/O.
func (s *Scope) Weight() error {
	for _, d := range s.Weights() {
		charged, why := false, "no group is charged for the I/O there"
		for _, g := range s.Places {
			for _, w := range g.Explanation.Weights {
				charged = charged || w.Name == d.Name && w.Charge != explain.Leaks
			}
		}
		if charged {
			continue
		}
		if d.By != "" {
			why += ": " + d.Why
		}
		return &refusal.Error{What: "a weight on " + d.Name, Why: why, Fix: "limit rates"}
	}
	return nil
}

// Written returns why a limit on writes has no effect here: all writes go where there is no limit. If nothing can be
// written, there is nothing to hold and no error.
func (s *Scope) Written() error {
	for _, g := range s.Places {
		if slices.ContainsFunc(g.Explanation.Hard, func(d explain.Spot) bool { return !d.ReadsOnly }) {
			return nil
		}
	}
	for _, g := range s.Places {
		for _, m := range g.Explanation.Modes {
			if m.Name == explain.Direct && m.Group != explain.Never {
				return &refusal.Error{Act: refusal.Limited, What: "what is written to " + g.Name, Why: m.Why, Fix: "write it to a volume on a disk; reads can be limited"}
			}
		}
	}
	return nil
}
