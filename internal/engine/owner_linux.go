package engine

import (
	"os"
	"strconv"
	"strings"
)

// ownerOf reads who process pid is; its Start is empty when there is none. A
// zombie is none: it has ended, and only its parent has not asked yet.
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
	if len(f) > 19 && f[0] != "Z" && f[0] != "X" {
		o.Start = f[19]
	}
	return o
}

// pidNamespace names this process's PID namespace: "pid:[4026531836]".
func pidNamespace() string {
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}
