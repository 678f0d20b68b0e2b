package diskspd

import (
	"os"
	"slices"
	"time"
)

// System is the machine of a report.
type System struct {
	ComputerName string
	// Start is when the run began.
	Start time.Time
	// Power is the name of the power scheme, PowerID its GUID on Windows: on Linux the
	// frequency governor of the first processor, if there is one.
	Power, PowerID string
	Processors     []ProcessorInfo
}

// A ProcessorInfo is where a processor is. All are in one group, whose numbers are the system's.
type ProcessorInfo struct {
	Number, Socket, Node, Core int
	// Class is higher for a faster kind of core.
	Class int
}

// ThisSystem is the machine that the program runs on.
func ThisSystem() System {
	s := System{Start: time.Now(), Power: "<unknown>"}
	s.ComputerName, _ = os.Hostname() // a machine without a name has none
	thisMachine(&s)
	return s
}

// info is what is known of processor number n.
func (s *System) info(n int) ProcessorInfo {
	for _, p := range s.Processors {
		if p.Number == n {
			return p
		}
	}
	return ProcessorInfo{Number: n}
}

// distinct returns the different values of a field, rising.
func (s *System) distinct(field func(ProcessorInfo) int) []int {
	var all []int
	for _, p := range s.Processors {
		all = append(all, field(p))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *System) sockets() []int {
	return s.distinct(func(p ProcessorInfo) int { return p.Socket })
}

func (s *System) nodes() []int { return s.distinct(func(p ProcessorInfo) int { return p.Node }) }

func (s *System) cores() []int { return s.distinct(func(p ProcessorInfo) int { return p.Core }) }

// bestClass is 0 if all processors are of one kind.
func (s *System) bestClass() int {
	best := 0
	for _, p := range s.Processors {
		best = max(best, p.Class)
	}
	return best
}

// threaded reports whether a core has several processors.
func (s *System) threaded() bool { return len(s.cores()) < len(s.Processors) }
