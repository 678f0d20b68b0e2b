package check

import (
	"strings"

	"plimsoll/internal/measure/record"
)

// checkEmulated reports that the virtual machine's processor was emulated, which the engine vm shows in its runtime ("qemu
// 7.2.22, TCG"). Without the note, a reader takes the slowness for the cost of the machine's boundary.
func checkEmulated(v *view) []record.Warning {
	if !strings.HasPrefix(v.where.Runtime, "qemu ") || !strings.HasSuffix(v.where.Runtime, ", TCG") {
		return nil
	}
	return warning(Emulated, record.Note, map[string]any{"runtime": v.where.Runtime},
		"The virtual machine's processor was emulated (%s), which is about ten times slower than a real one and explains most of a difference from places outside the machine. Compare its places with each other, or use a computer with KVM.", v.where.Runtime)
}
