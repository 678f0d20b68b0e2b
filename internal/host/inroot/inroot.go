package inroot

import (
	"fmt"
	"strconv"
	"strings"
)

// mountID reads the mnt_id line of fdinfo.
func mountID(fdinfo string) (int, error) {
	for line := range strings.Lines(fdinfo) {
		if v, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return 0, fmt.Errorf("fdinfo without a mnt_id: %q", fdinfo)
}
