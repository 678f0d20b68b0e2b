package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// A Fault is a limit that could not be set.
type Fault struct {
	// Keys are the limits that were being set.
	Keys []limit.Key `json:"keys,omitempty"`
	// Device is the limit's device, zero for a limit without one.
	Device device.Number `json:"device,omitzero"`
	// File is the control file, and Text the refused text. Both are empty if nothing was written.
	File string `json:"file,omitempty"`
	Text string `json:"text,omitempty"`
	// Why says what is wrong, and Fix how to correct it; Fix may be empty.
	Why string `json:"why"`
	Fix string `json:"fix,omitempty"`
	// Undone says that the earlier writes were undone. Left are the files where that failed, with their earlier
	// value.
	Undone bool     `json:"undone,omitempty"`
	Left   []string `json:"left,omitempty"`
	// Err is the error of the kernel or of a rule; may be nil.
	Err error `json:"-"`
}

// Unwrap returns the underlying error, such as syscall.ENODEV or ErrNoController.
func (f *Fault) Unwrap() error { return f.Err }

// NotRestored reports whether err is of a change that failed and could not be undone: the kernel has some of the new limits.
func NotRestored(err error) bool {
	var f *Fault
	return errors.As(err, &f) && len(f.Left) > 0
}

// Error implements error.
func (f *Fault) Error() string {
	var b strings.Builder
	if len(f.Keys) > 0 {
		b.WriteString(list(f.Keys))
		if !f.Device.IsZero() {
			b.WriteString(" on " + f.Device.String())
		}
		b.WriteString(": ")
	}
	if f.File != "" && f.Text != "" {
		fmt.Fprintf(&b, "writing %q to %s: ", f.Text, f.File)
	} else if f.File != "" {
		b.WriteString(f.File + ": ")
	}
	b.WriteString(f.Why)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	switch {
	case len(f.Left) > 0:
		b.WriteString("; NOT restored: " + strings.Join(f.Left, ", "))
	case f.Undone:
		b.WriteString("; the earlier writes were undone")
	}
	return b.String()
}

// list joins keys.
func list(keys []limit.Key) string {
	s := make([]string, len(keys))
	for i, k := range keys {
		s[i] = string(k)
	}
	return strings.Join(s, ", ")
}

// unsupported is the fault of a limit that can't be held here at all.
func unsupported(key limit.Key, why, fix string) *Fault {
	return &Fault{Keys: []limit.Key{key}, Why: why, Fix: fix, Err: ErrUnsupported}
}

// missing is the fault of a missing control file: the group is gone, or doesn't have the controller, or the kernel
// doesn't have the file. err is the kernel's error.
func (h *Host) missing(g *hierarchy.Group, file string, err error, keys ...limit.Key) error {
	if h.gone(g, err) {
		return fmt.Errorf("%s: %w", g.Path, ErrGone)
	}
	f := &Fault{Keys: keys, File: filepath.Join(g.Dir, file), Err: ErrUnsupported, Why: "this kernel has no such file"}
	if g.Version == 1 {
		return f
	}
	if g.IsRoot() && h.exists(g.Dir) {
		f.Why, f.Fix = "the root group has no limits", "start the processes in a group of their own"
		return f
	}
	controller := g.Controller.V2
	if slices.Contains(h.fields(g.Dir, "cgroup.controllers"), controller) {
		f.Why = fmt.Sprintf("the group has the %s controller, but this kernel has no %s", controller, file)
		return f
	}
	// The topmost group that doesn't enable it has to be changed first.
	f.Err, f.Why = ErrNoController, "the "+controller+" controller is not given to this group"
	var below []string // The names on the way from a to the group.
	for a, on := g.Parent(), g; a != nil; on, a = a, a.Parent() {
		below = append([]string{filepath.Base(on.Dir)}, below...)
		if !a.ForChildren() {
			control := filepath.Join(a.Dir, "cgroup.subtree_control")
			f.Why = fmt.Sprintf("the %s controller is not given to this group: %s does not list it", controller, control)
			f.Fix = fmt.Sprintf("echo +%s > %s", controller, control) + unitFix(filepath.Base(a.Dir), below, controller)
		}
	}
	return f
}

// accounting is the property by which systemd enables a controller for a unit (systemd.resource-control(5)).
var accounting = map[string]string{"io": "IOAccounting=yes", "memory": "MemoryAccounting=yes", "cpu": "CPUWeight=100"}

// unitFix is the fix by systemd, which reverts direct writes to its units' groups. above is the group that does not
// enable the controller, below are the next groups on the way to the one without it. systemd enables a unit's
// controllers in all slices above, so the fix names the innermost unit: below a service or a scope the names are not
// this systemd's.
func unitFix(above string, below []string, controller string) string {
	innermost := ""
	for _, name := range below {
		slice := strings.HasSuffix(name, ".slice")
		if !slice && !strings.HasSuffix(name, ".service") && !strings.HasSuffix(name, ".scope") {
			break
		}
		innermost = name
		if !slice {
			break
		}
	}
	switch {
	case innermost != "":
		return fmt.Sprintf("; where systemd runs, instead: systemctl set-property %s %s", innermost, accounting[controller])
	case strings.HasSuffix(above, ".service") || strings.HasSuffix(above, ".scope"):
		return fmt.Sprintf("; where systemd runs, instead: systemctl edit %s, with Delegate=%s in its [Service] or [Scope]", above, controller)
	}
	return ""
}

func (h *Host) exists(dir string) bool {
	_, err := h.io.groups(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// refused turns the kernel's error for a write into a fault.
func (h *Host) refused(e *Edit, text string, err error) error {
	f := &Fault{Keys: e.Keys, Device: e.Device, File: e.File, Text: text, Err: err}
	var number syscall.Errno
	if e.group != nil && errors.Is(err, ErrGone) {
		f.Err, f.Why = ErrGone, ErrGone.Error()
		return f
	}
	if !errors.As(err, &number) {
		f.Why = err.Error()
		return f
	}
	f.Why = number.Error()
	switch number {
	case syscall.ENOENT:
		if e.group != nil {
			return h.missing(e.group, filepath.Base(e.File), err, e.Keys...)
		}
	case syscall.ENODEV:
		h.noDevice(f, e)
	case syscall.EACCES, syscall.EPERM:
		f.Why, f.Fix = "not permitted", "run as root, or as the user whom the group was given to"
	case syscall.EROFS:
		f.Why, f.Fix = "control groups are mounted read-only here", "run this on the host: containers see them so"
	case syscall.ERANGE:
		f.Why = "the kernel says that the value is out of its range"
	case syscall.EOPNOTSUPP:
		h.noPolicy(f, e)
	case syscall.EBUSY:
		if slices.Contains(e.Keys, limit.Memory) {
			f.Why = "the group uses more memory than that, and the kernel could not get the rest back"
			f.Fix = "ask for more, or let its processes free some first"
		}
	case syscall.EINVAL:
		f.Why = "the kernel does not take this value"
		if slices.Contains(e.Keys, limit.CPUs) {
			h.conflict(f, e)
		}
	}
	return f
}

// noDevice explains ENODEV, which means either a removed group or a device that can't be limited.
func (h *Host) noDevice(f *Fault, e *Edit) {
	if e.group != nil && !h.exists(e.group.Dir) {
		f.Err, f.Why = ErrGone, ErrGone.Error()
		return
	}
	f.Why = "the kernel knows no such device to limit"
	var reason *Fault
	if !e.Device.IsZero() && errors.As(h.checkDevice(e.Device), &reason) {
		f.Why, f.Fix = reason.Why, reason.Fix
	}
}

// noPolicy explains EOPNOTSUPP: the mechanism for the limit is not enabled on the device.
func (h *Host) noPolicy(f *Fault, e *Edit) {
	if e.Device.IsZero() || e.group == nil || !slices.Contains(e.Keys, limit.Weight) {
		f.Why = "the kernel can't do this on this device"
		return
	}
	effect := h.WeightEffect(e.group, e.Device)
	f.Why, f.Fix = effect.Why, effect.Fix
	if effect.By != "" {
		f.Why = "the kernel can't do this on this device, although " + effect.Why
	}
}
