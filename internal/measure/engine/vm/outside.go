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

// Where the limits of a cell hold.
const (
	// LimitsInside: the guest's control groups hold the worker.
	LimitsInside = "inside"
	// LimitsOutside: a control group of this machine holds QEMU and the daemon of the share, the emulation's own work included.
	LimitsOutside = "outside"
)

// outside reports whether limits hold around the machine.
func (v *Engine) outside() bool { return v.Limits == LimitsOutside }

// IOLimits implements Limited: those that hold inside are the guest's business.
func (s *session) IOLimits() *engine.IOLimits {
	if s.limits == nil {
		return &engine.IOLimits{Engine: s.vm.Name()}
	}
	return s.limits
}

// enclose puts the machine's processes into a control group of Plimsoll's own, if the cell's limits hold around it. Those on memory and CPUs
// hold from now on, those on I/O while a trial is measured (Hold). What a process has of memory by then stays charged to plimsoll's own group,
// in both versions: a few MB of QEMU, which has only just been started, and all of a share's daemon as it waits for its first request.
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
	if rest := restOf(l); err == nil && !rest.IsZero() {
		_, err = groups.Hold(s.limits.Own.Target, cgroup.Want{Change: limit.Change{Set: rest}})
	}
	if err != nil {
		return s.limits.No(keysOf(l), "the machine gets no control group of its own here: "+err.Error(), "run as root, or leave 'limits: outside' out, so that the guest's hold")
	}
	return nil
}

// addFamily adds a process and all that it has started. One that is in a group starts others in there, so it is done when there is none
// any more that was not added.
func addFamily(pid int, add func(pid int) error) error {
	added := map[int]bool{}
	for found := []int{pid}; len(found) > 0; {
		for _, p := range found {
			// One that has ended meanwhile needs no group.
			if err := add(p); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			added[p] = true
		}
		found = slices.DeleteFunc(procfs.Descendants("/proc", pid), func(p int) bool { return added[p] })
	}
	return nil
}

// restOf are the limits that are not about I/O.
func restOf(l limit.Limits) limit.Limits {
	return limit.Limits{Name: l.Name, Memory: l.Memory, CPUs: l.CPUs, CPUShares: l.CPUShares}
}

// keysOf lists the keys that are asked for.
func keysOf(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// supportsOutside says which of the limits around a machine can't be had.
func (v *Engine) supportsOutside(spec engine.Spec) error {
	if need := v.memoryOf(spec) + qemuOverhead; spec.Limits.Memory > 0 && spec.Limits.Memory < need {
		return v.no("limit memory", "it holds QEMU, which takes "+size.Bytes(need)+" with the memory of its machine", "raise the limit, make memory: of the engine smaller, or leave 'limits: outside' out")
	}
	return nil
}
