package keeper

import (
	"errors"
	"io/fs"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// When a disk is gone, the next one may get its number. The kernel forgets the limits with the disk, except for a
// loop device, which keeps its limits whatever its file. So each limit is recorded with the disk's identity, and the
// value before it is restored on that disk only.

// A fate is what has become of the disk with a limit.
type fate int

const (
	// stays: it is the same, or its identity isn't known.
	stays fate = iota
	// left: no disk has the number.
	left
	// replaced: another disk has the number.
	replaced
)

// errReplaced is the error where the disk with a limit is gone, or another disk has its number. The rules must be
// evaluated again.
var errReplaced = errors.New("its disk is gone or was replaced")

// fateOf is the fate of the disk of h.
func (k *Keeper) fateOf(h *Limit) fate {
	if h.Device.IsZero() {
		return stays
	}
	id, err := k.diskOf(h.Device)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return left
	case err != nil, id == "", h.identity == "", id == h.identity:
		return stays
	}
	return replaced
}

// identityOf is the identity of a slot's disk, "" where it isn't known.
func (k *Keeper) identityOf(s Slot) string {
	if s.Device.IsZero() {
		return ""
	}
	id, _ := k.diskOf(s.Device)
	return id
}

// renew replaces the limits on disks that were replaced by those on the present disks. If these already have the
// keeper's own limit, that isn't their value before.
func (k *Keeper) renew(e *entry, now []cgroup.State) {
	for s, h := range e.held {
		if k.fateOf(h) != replaced {
			continue
		}
		own := h.limits
		h := &Limit{Grant: h.Grant, Since: time.Now(), was: wasLimit(now, s), identity: k.identityOf(s)}
		if h.was == own {
			h.was = limit.Limits{}
		}
		h.Was = h.was.Text(s.Key)
		e.held[s] = h
	}
}

// diskChanged reports whether a disk of a part is gone or was replaced.
func (k *Keeper) diskChanged(e *entry, p *part) bool {
	for _, s := range p.slots {
		if h := e.held[s]; h != nil && k.fateOf(h) != stays {
			return true
		}
	}
	return false
}

// withoutGone drops grants for disks that are gone.
func (k *Keeper) withoutGone(grants []Grant) []Grant {
	var list []Grant
	for _, g := range grants {
		if k.fateOf(&Limit{Grant: g}) != left {
			list = append(list, g)
		}
	}
	return list
}

// back returns the value to restore when h is removed. ok is false if nothing is to be restored: the disk is gone, or
// another program has changed the limit. now returns the groups' present limits. If a disk that replaced h's has the same
// limit, that is the keeper's too.
func (k *Keeper) back(e *entry, h *Limit, now func() ([]cgroup.State, error)) (was limit.Limits, ok bool, err error) {
	switch k.fateOf(h) {
	case left:
		return was, false, nil
	case replaced:
		states, err := now()
		if err != nil {
			return was, false, err
		}
		return was, wasLimit(states, h.Slot) == h.limits, nil
	}
	ok, err = k.stillOwn(e, h, now)
	return h.was, ok, err
}

// diskOf is the identity of the disk with a number, cached for a moment, since it is needed for each container on
// that disk. The error wraps fs.ErrNotExist where there is none.
func (k *Keeper) diskOf(d device.Number) (string, error) {
	return k.disk.Of(d, func() (string, error) { return k.holder.FS.Identity(d) })
}
