package procfs

import (
	"os"
	"path/filepath"
	"strings"
)

// A Process identifies one process, and no later one with the same number. The zero value identifies none.
type Process struct {
	PID int `json:"pid"`
	// Start is when the process started, in clock ticks since boot (field 22 of proc_pid_stat(5)), and Boot the random id of that
	// boot (/proc/sys/kernel/random/boot_id). Both are zero if the system has none.
	Start uint64 `json:"start,omitempty"`
	Boot  string `json:"boot,omitempty"`
	// Namespace is the PID namespace in which the process has this PID ("pid:[4026531836]"). It is empty if that is not known.
	Namespace string `json:"namespace,omitempty"`
}

// Of returns the process with number pid in the procfs at root. Its Start is 0 if there is none.
func Of(root string, pid int) Process {
	p := Process{PID: pid, Boot: Boot(root)}
	p.Start, _ = Start(root, pid)
	p.Namespace, _ = os.Readlink(filepath.Join(root, "self/ns/pid"))
	return p
}

// Boot returns the random id of this boot, "" if the kernel has none.
func Boot(root string) string {
	b, _ := os.ReadFile(filepath.Join(root, "sys/kernel/random/boot_id"))
	return strings.TrimSpace(string(b))
}

// Self returns this process.
func Self() Process { return Of("/proc", os.Getpid()) }

// Alive reports whether the process still runs. It is true if that can't be found out: a process of another PID namespace has
// another number here, and some systems have no procfs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return true
	}
	now := Of("/proc", p.PID)
	if p.Boot == now.Boot && p.Namespace != "" && p.Namespace != now.Namespace {
		return true
	}
	return p.Boot == now.Boot && p.Start == now.Start
}
