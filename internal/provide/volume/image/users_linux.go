package image

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
)

// filesOf returns the device numbers that stat(2) reports for files of a mounted volume: the root's, and for btrfs the subvolume's.
func filesOf(target string) (numbers []uint64) {
	for _, path := range []string{target, filepath.Join(target, dataName)} {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && !slices.Contains(numbers, st.Dev) {
			numbers = append(numbers, st.Dev)
		}
	}
	return numbers
}

// users lists the processes that use a volume: by an open file, a folder or a program with one of these numbers, or by a mount of it
// in another namespace.
func users(at *device.Mount, numbers []uint64) (list []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	own := link("/proc/self/ns/mnt")
	namespaces := map[string]bool{own: false}
	for _, p := range processes {
		if uses(p, numbers) || mounts(p, at, namespaces) {
			name, _ := os.ReadFile(filepath.Join(p, "comm"))
			list = append(list, fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(p)))
		}
	}
	return list
}

// uses reports whether a process has a file open on one of the devices.
func uses(process string, numbers []uint64) bool {
	paths, _ := filepath.Glob(filepath.Join(process, "fd", "*"))
	for _, name := range []string{"cwd", "root", "exe"} {
		paths = append(paths, filepath.Join(process, name))
	}
	if filepath.Base(process) == strconv.Itoa(os.Getpid()) {
		paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasPrefix(link(p), process) })
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		var st unix.Stat_t
		return unix.Stat(p, &st) == nil && slices.Contains(numbers, st.Dev)
	})
}

// mounts reports whether a process is in another mount namespace that shows the volume. seen holds the answers.
func mounts(process string, at *device.Mount, seen map[string]bool) bool {
	namespace := link(filepath.Join(process, "ns", "mnt"))
	if there, ok := seen[namespace]; ok || namespace == "" {
		return there
	}
	text, _ := os.ReadFile(filepath.Join(process, "mountinfo"))
	seen[namespace] = strings.Contains(string(text), " - "+at.FSType+" "+at.Source+" ")
	return seen[namespace]
}

func link(path string) string {
	s, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return s
}
