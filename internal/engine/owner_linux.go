package engine

import (
	"os"
	"strconv"
	"strings"
)

// ownerOf reads who process pid is; its Start is empty when there is none.
func ownerOf(pid int) Owner {
	o := Owner{PID: pid}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		o.Boot = strings.TrimSpace(string(b))
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return o
	}
	// The second field is a name in parentheses that may hold anything.
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) > 19 {
		o.Start = f[19]
	}
	return o
}
