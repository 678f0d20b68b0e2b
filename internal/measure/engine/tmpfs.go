package engine

import (
	"cmp"
	"strconv"

	"plimsoll/internal/measure/place"
)

// DefaultTmpfs bounds a tmpfs whose Spec gives no size, in bytes; a run gives one
// that its workloads fit in. The kernel's own default is half of the machine's
// memory, which a runaway job would take.
const DefaultTmpfs = 512 << 20

// TmpfsSize is the size of a tmpfs, for mount(8).
func TmpfsSize(p place.Spec) string { return strconv.FormatInt(cmp.Or(p.Size, DefaultTmpfs), 10) }
