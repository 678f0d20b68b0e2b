package engine

import (
	"cmp"
	"strconv"

	"plimsoll/internal/measure/place"
)

// DefaultTmpfs is the size in bytes of a tmpfs whose Spec gives none; a run gives one that fits its workloads. The kernel's
// own default is half of the machine's memory, which a runaway job would fill.
const DefaultTmpfs = 512 << 20

// TmpfsSize is the size of a tmpfs, in the form of mount(8).
func TmpfsSize(p place.Spec) string { return strconv.FormatInt(cmp.Or(p.Size, DefaultTmpfs), 10) }
