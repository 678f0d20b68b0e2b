package agent

import (
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/text/size"
)

// A Memory holds the state of some agents' memory groups before a trial. Afterwards it shows whether the kernel killed
// processes because memory ran out.
type Memory struct {
	// asked is the limit of the plan in bytes, 0: none.
	asked int64
	of    []memoryGroup
}

// memoryGroup is one agent's memory group; nil if it can't be read: another machine's, or another system's.
type memoryGroup struct {
	*cgroupio.MemoryGroup
	kills int64
}

// WatchMemory reads the memory groups of agents. asked is the plan's limit on their memory in bytes; 0: none.
func WatchMemory(agents []*Agent, asked int64) *Memory {
	m := &Memory{asked: asked}
	for _, a := range agents {
		var g memoryGroup
		if pid := a.Session.Info().PID; pid > 0 {
			g.MemoryGroup, _ = cgroupio.ReadMemory(device.Host(), pid)
		}
		if g.MemoryGroup != nil {
			g.kills, _ = g.Kills()
		}
		m.of = append(m.of, g)
	}
	return m
}

// Explain adds to the error of a trial that the kernel killed it because memory ran out, if so, and by whose limit. A limit
// from outside the plan, such as that of a service in which plimsoll runs or of a group for all of a daemon's containers,
// is not the cell's. Explain returns other errors unchanged.
func (m *Memory) Explain(err error) error {
	var te *TrialError
	if !errors.As(err, &te) {
		return err
	}
	i := m.killed()
	switch {
	case strings.Contains(te.Text, "out of memory"):
		// The engine reports it, but knows only its own limit.
		if outside := m.outside(max(i, 0)); outside != "" {
			return fmt.Errorf("%w; in effect was a %s", err, outside)
		}
	case i >= 0 && (te.Signal != "" || errors.Is(err, ErrLost)):
		return fmt.Errorf("%w: out of memory (%s)", err, m.limit(i))
	case te.Signal == "" && errors.Is(err, ErrLost) && strings.Contains(te.Text, "killed") && len(m.of) > 0:
		// The group of a killed agent is gone, too.
		if m.asked > 0 || m.outside(0) != "" {
			return fmt.Errorf("%w; perhaps out of memory (%s)", err, m.limit(0))
		}
	}
	return err
}

// killed returns the agent in whose group the kernel has killed since; -1: none is known.
func (m *Memory) killed() int {
	for i, g := range m.of {
		if g.MemoryGroup == nil {
			continue
		}
		if n, err := g.Kills(); err == nil && n > g.kills {
			return i
		}
	}
	return -1
}

// limit describes the limit of the i-th agent.
func (m *Memory) limit(i int) string {
	if outside := m.outside(i); outside != "" {
		return outside
	}
	if m.asked > 0 {
		return "memory limit " + size.Bytes(m.asked)
	}
	return "no memory limit can be seen from here: the machine's own memory, or a limit around it, was used up"
}

// pageSlack is how far a limit in effect may be below what was asked for and still be the same: the kernel rounds down to
// pages, of 64 KiB at most.
const pageSlack = 64 << 10

// outside describes the i-th agent's limit if it is not the plan's; else it is empty.
func (m *Memory) outside(i int) string {
	if i >= len(m.of) || m.of[i].MemoryGroup == nil || m.of[i].Limit == 0 {
		return ""
	}
	g := m.of[i]
	if m.asked > 0 && g.Limit > m.asked-pageSlack {
		return ""
	}
	return fmt.Sprintf("memory limit %s of the control group %s, which is not the plan's", size.Bytes(g.Limit), g.Holder)
}
