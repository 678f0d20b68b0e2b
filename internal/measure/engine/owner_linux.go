package engine

import (
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/host/procfs"
)

// ownerOf reads who process pid is; its Start is empty when there is none. A
// zombie is none: it has ended, and only its parent has not asked yet.
func ownerOf(pid int) Owner {
	o := Owner{PID: pid}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		o.Boot = strings.TrimSpace(string(b))
	}
	if ticks, err := procfs.Start("/proc", pid); err == nil {
		o.Start = strconv.FormatUint(ticks, 10)
	}
	return o
}

// pidNamespace names this process's PID namespace: "pid:[4026531836]".
func pidNamespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}
