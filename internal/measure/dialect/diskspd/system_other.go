//go:build !linux

package diskspd

import "runtime"

// thisMachine knows the number of processors only.
func thisMachine(s *System) {
	for n := range runtime.NumCPU() {
		s.Processors = append(s.Processors, ProcessorInfo{Number: n, Core: n})
	}
}
