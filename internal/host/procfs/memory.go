package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns how much memory a process of the procfs at root uses, in bytes: its own, and its share of memory that others have
// mapped too (Pss in smaps_rollup of proc_pid_smaps(5)).
func Memory(root string, pid int) (bytes int64, err error) {
	name := filepath.Join(root, strconv.Itoa(pid), "smaps_rollup")
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" && f[2] == "kB" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no Pss", name)
}

// Available returns how many bytes of memory new work can have without swapping: MemAvailable of proc_meminfo(5). ok is false if the
// procfs at root doesn't say.
func Available(root string) (bytes int64, ok bool) {
	b, _ := os.ReadFile(filepath.Join(root, "meminfo"))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			return kib << 10, err == nil && kib >= 0
		}
	}
	return 0, false
}

// Children lists the children of a process of the procfs at root whose program's name begins with name. The kernel keeps 15 bytes of
// the name (TASK_COMM_LEN of include/linux/sched.h).
func Children(root string, pid int, program string) []int {
	dirs, _ := filepath.Glob(filepath.Join(root, "[0-9]*"))
	var found []int
	for _, dir := range dirs {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || Parent(root, child) != pid {
			continue
		}
		if name, err := os.ReadFile(filepath.Join(dir, "comm")); err == nil && bytes.HasPrefix(name, []byte(program)) {
			found = append(found, child)
		}
	}
	return found
}
