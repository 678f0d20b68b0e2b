package vm

import (
	"errors"
	"slices"
	"syscall"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/size"
)

// LimitsOutside makes a control group of the host limit QEMU and the share's daemon, including the work of emulation.
const LimitsOutside = "outside"

// outside reports whether limits apply around the machine.
func (v *Engine) outside() bool { return v.Limits == LimitsOutside }

// IOLimits implements engine.Limited; the guest applies limits inside it.
func (s *session) IOLimits() *engine.IOLimits {
	if s.limits == nil {
		return &engine.IOLimits{Engine: s.vm.Name()}
	}
	return s.limits
}

// enclose puts the machine's processes into a control group of Plimsoll's own, if the cell's limits apply around it. Limits
// on memory and CPUs apply from then on, those on I/O while a trial is measured (Hold). The memory that a process has by
// then stays charged to plimsoll's own group, in both versions: a few MB of QEMU, which has only just started, and all of a
// share's daemon, which waits for its first request.
func (s *session) enclose(spec engine.Spec) error {
	l := spec.Limits
	if !s.vm.outside() || l.IsZero() {
		return nil
	}
	s.limits = &engine.IOLimits{Engine: s.vm.Name(), Asked: l, ID: s.id}
	var needs []hierarchy.Controller
	if l.IO() {
		needs = append(needs, hierarchy.IO)
	}
	if l.Memory > 0 {
		needs = append(needs, hierarchy.Memory)
	}
	if l.CPUs > 0 || l.CPUShares > 0 {
		needs = append(needs, hierarchy.CPU)
	}
	groups, err := cgroup.Open(device.Host())
	if err == nil {
		s.limits.Own, err = groups.Make(engine.FolderPrefix+s.id, needs...)
	}
	for _, p := range append(s.daemons(), s.Process) {
		if err == nil {
			err = addFamily(p.Cmd.Process.Pid, s.limits.Own.Add)
		}
	}
	// These limits don't go through hold: the group was made for the machine, so they have no other owner, need no record, and
	// end with it. HoldAll sets the limits on I/O, once the data is known.
	if rest := restOf(l); err == nil && !rest.IsZero() {
		_, err = groups.Hold(s.limits.Own.Target, cgroup.Want{Change: limit.Change{Set: rest}})
	}
	if err != nil {
		return s.limits.No(l.Keys(), "the machine gets no control group of its own here: "+err.Error(), "run as root, or leave 'limits: outside' out, so that the guest's hold")
	}
	return nil
}

// addFamily adds a process and all that it has started. A process in a group starts others in the same group, so addFamily
// is done when it finds no new one.
func addFamily(pid int, add func(pid int) error) error {
	added := map[int]bool{}
	for found := []int{pid}; len(found) > 0; {
		for _, p := range found {
			// A process that has ended needs no group.
			if err := add(p); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			added[p] = true
		}
		found = slices.DeleteFunc(procfs.Descendants("/proc", pid), func(p int) bool { return added[p] })
	}
	return nil
}

// restOf returns the limits that don't limit I/O.
func restOf(l limit.Limits) limit.Limits {
	return limit.Limits{Name: l.Name, Memory: l.Memory, CPUs: l.CPUs, CPUShares: l.CPUShares}
}

// supportsOutside returns an error for a limit that can't be applied around a machine.
func (v *Engine) supportsOutside(spec engine.Spec) error {
	if need := v.memoryOf(spec) + qemuOverhead; spec.Limits.Memory > 0 && spec.Limits.Memory < need {
		return v.no("limit memory", "it applies to QEMU, which needs "+size.Bytes(need)+" with the memory of its machine", "raise the limit, make memory: of the engine smaller, or leave 'limits: outside' out")
	}
	return nil
}
