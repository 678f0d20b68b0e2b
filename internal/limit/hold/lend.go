package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
)

// A Process is one that has limits in the root group for as long as it runs, in words that no later one with its number can match.
type Process struct {
	PID int `json:"pid"`
	// Start is its start in clock ticks after boot (proc(5), field 22).
	Start uint64 `json:"start"`
	// Namespace is its PID namespace: numbers of another one mean nothing here.
	Namespace string `json:"namespace,omitempty"`
}

// self is this process; nil where processes can't be told apart.
func self(fs device.FS) *Process {
	start, err := procfs.Start(fs.Proc, os.Getpid())
	if err != nil {
		return nil
	}
	return &Process{os.Getpid(), start, namespace(fs)}
}

// namespace is this process's PID namespace.
func namespace(fs device.FS) string {
	n, _ := os.Readlink(filepath.Join(fs.Proc, "self", "ns", "pid"))
	return n
}

// ended reports whether it has ended. In doubt it has not.
func (p *Process) ended(fs device.FS) bool {
	if p.Namespace != namespace(fs) {
		return false
	}
	start, err := procfs.Start(fs.Proc, p.PID)
	return errors.Is(err, os.ErrNotExist) || err == nil && start != p.Start
}

// cleared is the command that removes w.
func (w Wide) cleared() string {
	if _, err := target.Parse(w.For); err != nil {
		return "plimsoll limit clear --device-wide --device " + clean.Shell(node(w.Disk))
	}
	return "plimsoll limit clear " + clean.Shell(w.For)
}

// When says what has become of the device that w was set on, "" if that is there as it was.
func (w Wide) When() string {
	switch {
	case w.Gone:
		return "on a device that has gone"
	case w.Former:
		return "when another device had that number"
	}
	return ""
}

// Still says of limits whose device isn't there as it was that the kernel has them still, and which command removes them. flags
// are what it has to be given besides.
func (w Wide) Still(flags string) string {
	s := fmt.Sprintf("the root group still has %s, set for %s %s; ", w, w.For, w.When())
	if w.Gone {
		s += "the next device with that number gets this limit; "
	}
	return s + w.cleared() + flags + " removes it"
}

// vacant reports whether nothing is in the device that has a number now, such as a loop device without a file.
func vacant(f device.FS, n device.Number) bool {
	return device.Text(f.Sys, "dev", "block", n.String(), "size") == "0"
}

// A TakenError says that a disk has limits in the root group already.
type TakenError struct {
	Disk string
	// Has are the limits, and For whose they are, as far as that is noted.
	Has limit.Limits
	For []string
}

// Error implements error.
func (e *TakenError) Error() string {
	whose := "set by another program"
	if len(e.For) > 0 {
		whose = "for " + strings.Join(e.For, ", ")
	}
	return fmt.Sprintf("%s already has a limit in the root group, %s (%s)", e.Disk, whose, e.Has)
}

// Free returns a *TakenError where a disk has limits in the root group. Where there are no such limits, as with version 2, the error
// wraps cgroup.ErrUnsupported.
func (w *Wides) Free(d explain.Spot) error {
	if _, err := w.groups.Device(); err != nil {
		return err
	}
	all, err := w.List()
	if err != nil {
		return err
	}
	_, now, err := w.now()
	if err != nil {
		return err
	}
	return taken(all, now, d.Name, d.Number())
}

func taken(all []Wide, now map[device.Number]limit.Limits, disk string, d device.Number) error {
	has := now[d]
	if has.IsZero() {
		return nil
	}
	e := &TakenError{Disk: disk, Has: has}
	for _, n := range all {
		if n.Device == d {
			e.For = append(e.For, n.For)
		}
	}
	return e
}

// Loan is what Lend sets for this process: rates of a disk. Nothing is written yet, so that whoever may be killed can note it first.
func (w *Wides) Loan(whose string, d explain.Spot, rates limit.Limits) Wide {
	n := Wide{For: whose, Device: d.Number(), Disk: d.Name, Limits: rates, Boot: w.boot, By: self(w.fs)}
	n.Medium, _ = mediumOf(w.fs, n.Device)
	return n
}

// Lend sets rates in the root group that go with a process, on a disk that has none there: the error is a *TakenError if it has. They are
// noted as those of targets are, so that of both the last is in force, and Return takes them back.
func (w *Wides) Lend(ctx context.Context, n Wide) error {
	return w.While(ctx, func(all []Wide) error {
		root, now, err := w.now()
		if err != nil || root == nil {
			return err
		}
		if err := taken(all, now, n.Disk, n.Device); err != nil {
			return err
		}
		if m, err := mediumOf(w.fs, n.Device); err != nil || !n.is(m) {
			return errors.Join(err, fmt.Errorf("%s (%s) is another device by now", n.Disk, n.Device))
		}
		if err := w.notes.write(append(slices.Clone(all), n)); err != nil {
			return err
		}
		if _, err := w.groups.Hold(root, cgroup.Want{Change: limit.Change{Set: n.Limits}, Devices: []device.Number{n.Device}}); err != nil {
			return errors.Join(err, w.notes.write(all))
		}
		return nil
	})
}

// Return takes back what Lend has set, also for a process that was killed. What a target was given meanwhile stays, and so does what
// somebody else has set. A number that is another device's by now is left alone: the error says what that still has of it, which
// stays noted. n may be of a version that has not noted it: without For.
func (w *Wides) Return(ctx context.Context, n Wide) error {
	if n.Boot != w.boot {
		return nil // The kernel's limits went with that boot.
	}
	return w.While(ctx, func(all []Wide) error {
		i := slices.IndexFunc(all, func(o Wide) bool { return o.For == n.For && o.Device == n.Device })
		switch {
		case i >= 0:
			n = all[i]
		case n.For != "" && w.notes.file != "":
			return nil // Somebody has cleared it, or the device has gone.
		default:
			all, i = append([]Wide{n}, all...), 0
		}
		if m, err := mediumOf(w.fs, n.Device); err == nil && !n.is(m) && !vacant(w.fs, n.Device) {
			n.Former = true
			return errors.New(n.Still(""))
		}
		after := slices.Delete(slices.Clone(all), i, i+1)
		_, back, err := w.release(all, after, []Wide{n}, false)
		if err != nil {
			return err
		}
		if err := w.notes.write(after); err != nil {
			return errors.Join(err, back())
		}
		return nil
	})
}
