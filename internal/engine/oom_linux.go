package engine

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OOMKills returns how many processes of the memory cgroup of process pid the
// kernel has killed for want of memory; ok is false where that can't be read.
// v1 counts in memory.oom_control since Linux 4.13, v2 in memory.events.
func OOMKills(pid int) (n int64, ok bool) {
	if pid <= 0 {
		return 0, false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return 0, false
	}
	var unified string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.SplitN(s.Text(), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			if c == "memory" {
				return readKey(filepath.Join("/sys/fs/cgroup/memory", f[2], "memory.oom_control"), "oom_kill")
			}
		}
		if f[0] == "0" {
			unified = f[2]
		}
	}
	return readKey(filepath.Join("/sys/fs/cgroup", unified, "memory.events"), "oom_kill")
}

// readKey reads the number after key in a file of "key number" lines.
func readKey(path, key string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
