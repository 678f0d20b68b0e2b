package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A Transaction is one change of one or several targets: all that was written for it so far, so that it can be undone as
// a whole. What isn't undone stays. It is for one goroutine.
type Transaction struct {
	host *Host
	// done are the edits that were written, also in part.
	done []Edit
	// also are what else was changed.
	also []elsewhere
}

// An elsewhere is a change that is not in a control file.
type elsewhere struct {
	what string
	undo func(context.Context) error
}

// Begin begins a change.
func (h *Host) Begin() *Transaction { return &Transaction{host: h} }

// Also notes what was changed besides control files, such as a unit's properties, and how to undo it. What is so noted is
// undone before the files: systemd and engines write those too.
func (x *Transaction) Also(what string, undo func(context.Context) error) {
	x.also = append(x.also, elsewhere{what, undo})
}

// Apply writes a diff, and returns how many writes that took. The error is a *Fault, which wraps ErrGone if the target has
// gone. What was written before it stays until Undo. Groups below the target's own that have gone are no error.
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

// ErrUnsettled is the error where a container makes groups faster than they are written: those that it had are as wanted, and
// there are others by now. Whoever looks again and again, as the keeper does, may leave what was written; else it is to be undone.
var ErrUnsettled = errors.New("new groups appear below it faster than limits can be written to them, and version 1 limits each group by itself")

// rounds is how often a container may make groups while its others are written.
const rounds = 8

// Hold plans and applies until nothing is left to write, since a container may make groups while
// its others are written (version 1 has to write each). It returns the writes it took. The error wraps ErrUnsettled for one
// that does so without end.
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

// again is the first edit of a file that was written before. A group that was removed and made anew has another file of that name.
func again(done []Edit, d *Diff) *Edit {
	for i := range d.Edits {
		e := &d.Edits[i]
		if !d.made(e) && slices.ContainsFunc(done, func(d Edit) bool { return d.File == e.File && d.Device == e.Device && slices.Equal(d.Text, e.Text) }) {
			return e
		}
	}
	return nil
}

// Undo puts back all that there was before the change, the last first, because of cause. The error is cause, and tells how that
// went. Groups that have gone need nothing. It goes on when ctx ends.
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

// told is cause with what was done about it.
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
	// Nothing in it says so, or its text was made before.
	return &Fault{Why: cause.Error(), Err: cause, Undone: undone, Left: left}
}

// reason is what a system call said, without the file that is named already.
func reason(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Hold is a Transaction's of one target alone: an error undoes all of its writes.
func (h *Host) Hold(t *Target, w Want) (writes int, err error) {
	x := h.Begin()
	writes, err = x.Hold(t, w)
	if err != nil {
		err = x.Undo(context.Background(), err)
	}
	return writes, err
}

// Through returns a Host whose writes of control files go through write, which is given the one that does it: for whoever
// counts, slows or refuses them.
func (h *Host) Through(write func(path, text string, next func(path, text string) error) error) *Host {
	through := *h
	through.io = filter{h.io, write}
	return &through
}

// A filter is files with writes that go through a function.
type filter struct {
	files
	through func(path, text string, next func(path, text string) error) error
}

func (f filter) write(path, text string) error { return f.through(path, text, f.files.write) }
