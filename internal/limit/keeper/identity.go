package keeper

import (
	"errors"
	"io/fs"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// A disk's number is given to the next one when it has gone. The kernel forgets a disk's limits with it, but for a loop device, which
// keeps its limits whatever file it gets. So what is held is noted with the disk's identity: what was there before is put back on the disk
// that it was on, and on no other.

// A fate is what has become of the disk that a limit was set on.
type fate int

const (
	// stays: it is the same, or nobody can tell.
	stays fate = iota
	// left: no disk has the number.
	left
	// replaced: another one has the number.
	replaced
)

// errReplaced is the error where a limit is on a disk that has gone, also where its number is another's by now: the rules have to be
// asked again.
var errReplaced = errors.New("its disk is another one now")

// fateOf is what has become of the disk that h is held on.
func (k *Keeper) fateOf(h *Held) fate {
	d, ok := number(h.Device)
	if !ok {
		return stays
	}
	id, err := k.diskOf(d)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return left
	case err != nil, id == "", h.identity == "", id == h.identity:
		return stays
	}
	return replaced
}

// identityOf is which disk a slot is of, "" where that can't be told.
func (k *Keeper) identityOf(s Slot) string {
	d, ok := number(s.Device)
	if !ok {
		return ""
	}
	id, _ := k.diskOf(d)
	return id
}

// renew makes what is held on disks that were replaced what is held on those of today. What they have of the keeper's own is not what
// they had before.
func (k *Keeper) renew(e *entry, now []cgroup.State) {
	for s, h := range e.held {
		if k.fateOf(h) != replaced {
			continue
		}
		own := h.limits
		h := &Held{Grant: h.Grant, Since: time.Now(), was: wasLimit(now, s), identity: k.identityOf(s)}
		if h.was == own {
			h.was = limit.Limits{}
		}
		h.Was = h.was.Text(s.Key)
		e.held[s] = h
	}
}

// moved reports whether a disk of a part has gone.
func (k *Keeper) moved(e *entry, p *part) bool {
	for _, s := range p.slots {
		if h := e.held[s]; h != nil && k.fateOf(h) != stays {
			return true
		}
	}
	return false
}

// here are the grants for disks that are here: of others that an earlier keeper held there is nothing to be held.
func (k *Keeper) here(grants []Grant) []Grant {
	var list []Grant
	for _, g := range grants {
		if k.fateOf(&Held{Grant: g}) != left {
			list = append(list, g)
		}
	}
	return list
}

// back is what is put back where h was held: what was there before. ok is false where there is nothing to put back, as the disk
// has gone, or another program has set the limit. now are the limits that the groups have; another disk that has the keeper's own limit had it from the keeper.
func (k *Keeper) back(e *entry, h *Held, now func() ([]cgroup.State, error)) (was limit.Limits, ok bool, err error) {
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

// diskOf is the identity of the disk with a number, or was a moment ago: that of one disk is asked for each container that is held on
// it. The error wraps fs.ErrNotExist where there is none.
func (k *Keeper) diskOf(d device.Number) (string, error) {
	return k.disk.Of(d, func() (string, error) { return k.holder.FS.Identity(d) })
}
