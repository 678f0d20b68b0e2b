package witness

import (
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/record"
)

// limits returns the limits on the rates of each agent's I/O that are in force now, those of other programs too, on all devices
// under its place. An entry is nil if there are none, or if they can't be read: no controller, another machine.
func (w *Witness) limits(agents []*agent.Agent, each []seen) [][]limit.Applied {
	all := make([][]limit.Applied, len(agents))
	host, err := cgroup.Open(w.fs)
	if err != nil {
		return all
	}
	for i, a := range agents {
		if pid := a.Session.Info().PID; pid > 0 && len(each[i].devices) > 0 {
			all[i], _ = host.Over(pid, each[i].devices)
		}
	}
	return all
}

// addLimits records for the clients the limits that one of two readings found, including the cell's own.
func addLimits(where []record.Where, before, after [][]limit.Applied) {
	for i := range min(len(where), len(before)) {
		where[i].Foreign = before[i]
		for _, l := range after[i] {
			if !slices.ContainsFunc(before[i], l.Same) {
				where[i].Foreign = append(where[i].Foreign, l)
			}
		}
	}
}

// devicesOf returns the numbers of all devices of a stack on which a limit can be set: an I/O goes through each of
// them.
func devicesOf(s *device.Stack) []device.Number {
	var all []device.Number
	var visit func(*device.Node)
	visit = func(n *device.Node) {
		if n == nil {
			return
		}
		if n.Device != nil && n.Kind != device.KindPartition && n.Kind != device.KindPath {
			if d := n.Device.Number; !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
		for _, b := range n.Below {
			visit(b)
		}
	}
	visit(s.Tree)
	return all
}

// nameOf returns the name of a device of the stack, or its number if the name is unknown.
func (s *seen) nameOf(number device.Number) string {
	name := number.String()
	var visit func(*device.Node)
	visit = func(n *device.Node) {
		if n == nil {
			return
		}
		if n.Device != nil && n.Device.Number == number {
			name = n.Device.Name
		}
		for _, b := range n.Below {
			visit(b)
		}
	}
	visit(s.stack.Tree)
	return name
}
