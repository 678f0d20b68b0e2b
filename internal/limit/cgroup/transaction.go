package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A Transaction is one change of one or several targets. It remembers all writes so that it can undo them as a whole;
// without Undo they stay. It is for one goroutine.
type Transaction struct {
	host *Host
	// done are the edits written, even in part.
	done []Edit
	// also are the changes outside control files.
	also []elsewhere
}

// An elsewhere is a change outside control files.
type elsewhere struct {
	what string
	undo func(context.Context) error
}

// Begin begins a change.
func (h *Host) Begin() *Transaction { return &Transaction{host: h} }

// Also records a change outside control files, such as a unit's properties, and how to undo it. It is undone before
// the files, since systemd and engines also write those.
func (x *Transaction) Also(what string, undo func(context.Context) error) {
	x.also = append(x.also, elsewhere{what, undo})
}

// Apply writes a diff, and returns the number of writes. The error is a *Fault, which wraps ErrGone if the target is
// gone. Earlier writes stay until Undo. Groups below the target's own that are gone are no error.
func (x *Transaction) Apply(d *Diff) (writes int, err error) {
	for _, e := range d.Edits {
		for i, text := range e.Text {
			err := x.host.io.write(e.File, text)
			if err == nil {
				writes++
				continue
			}
			if x.host.belowGone(d, &e, err) {
				break
			}
			if i > 0 {
				x.done = append(x.done, e)
			}
			return writes, x.host.refused(&e, text, err)
		}
		x.done = append(x.done, e)
	}
	return writes, nil
}

// ErrUnsettled is the error where a container creates groups faster than they are written: its earlier groups have
// the limits, the newest don't. A caller that checks repeatedly, such as the keeper, may leave the writes; others
// must undo them.
var ErrUnsettled = errors.New("new groups appear below it faster than limits can be written to them, and version 1 limits each group by itself")

// rounds is how often a container may create groups while its others are written.
const rounds = 8

// Hold plans and applies until nothing is left to write, since a container may create groups meanwhile, and version 1
// needs a write for each. It returns the number of writes. The error wraps ErrUnsettled if new groups keep appearing.
func (x *Transaction) Hold(t *Target, w Want) (writes int, err error) {
	from := len(x.done)
	for round := 0; ; round++ {
		d, err := x.host.Plan(t, w)
		if err != nil {
			return writes, err
		}
		if d.Empty() {
			return writes, nil
		}
		if e := again(x.done[from:], d); e != nil {
			return writes, &Fault{Keys: e.Keys, Device: e.Device, File: e.File, Text: e.Text[0], Why: ErrNotKept.Error(), Err: ErrNotKept, Fix: "find the program that sets it"}
		}
		if round == rounds {
			e := &d.Edits[0]
			return writes, &Fault{Keys: e.Keys, Device: e.Device, File: e.File, Why: ErrUnsettled.Error(), Err: ErrUnsettled, Fix: "try again when that ends, or let plimsoll daemon hold the limit: it adds new groups as they appear"}
		}
		n, err := x.Apply(d)
		writes += n
		if err != nil {
			return writes, err
		}
	}
}

// again is the first edit of a file that was written before. A group that was removed and created again counts as
// new.
func again(done []Edit, d *Diff) *Edit {
	for i := range d.Edits {
		e := &d.Edits[i]
		if !d.made(e) && slices.ContainsFunc(done, func(d Edit) bool { return d.File == e.File && d.Device == e.Device && slices.Equal(d.Text, e.Text) }) {
			return e
		}
	}
	return nil
}

// Undo restores all earlier values, the last first, because of cause. The error is cause with the outcome of that. It
// continues when ctx ends. Groups that are gone need nothing.
func (x *Transaction) Undo(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	var undone bool
	var left []string
	for _, a := range slices.Backward(x.also) {
		if err := a.undo(ctx); err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", a.what, err))
		} else {
			undone = true
		}
	}
	for _, e := range slices.Backward(x.done) {
		for _, text := range e.Was {
			err := x.host.io.write(e.File, text)
			switch {
			case err == nil:
				undone = true
			case e.group == nil || !errors.Is(err, fs.ErrNotExist) && x.host.exists(e.group.Dir):
				left = append(left, fmt.Sprintf("%s to %s (%v)", quoted([]string{text}), e.File, reason(err)))
			}
		}
	}
	x.also, x.done = nil, nil
	return told(cause, undone, left)
}

// told is cause with the outcome of undoing.
func told(cause error, undone bool, left []string) error {
	if !undone && len(left) == 0 {
		return cause
	}
	var f *Fault
	if errors.As(cause, &f) {
		f.Undone, f.Left = undone, left
		if strings.Contains(cause.Error(), f.Error()) {
			return cause
		}
	}
	// The cause has no such field, or its text is fixed.
	return &Fault{Why: cause.Error(), Err: cause, Undone: undone, Left: left}
}

// reason is a system call's error without the file name, which the message has already.
func reason(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Hold is Transaction.Hold for a single target: an error undoes all of its writes.
func (h *Host) Hold(t *Target, w Want) (writes int, err error) {
	x := h.Begin()
	writes, err = x.Hold(t, w)
	if err != nil {
		err = x.Undo(context.Background(), err)
	}
	return writes, err
}

// Through returns a Host that passes all writes of control files to write, with the original function: for counting,
// delaying or refusing them.
func (h *Host) Through(write func(path, text string, next func(path, text string) error) error) *Host {
	through := *h
	through.io = filter{h.io, write}
	return &through
}

// A filter is files whose writes pass through a function.
type filter struct {
	files
	through func(path, text string, next func(path, text string) error) error
}

func (f filter) write(path, text string) error { return f.through(path, text, f.files.write) }
