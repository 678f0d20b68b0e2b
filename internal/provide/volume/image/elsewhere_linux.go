package image

import (
	"os"
	"path/filepath"
)

// Elsewhere reports whether the image that is mounted on a folder is also mounted in another mount namespace, such as a container's. It is false if
// nothing is mounted.
func Elsewhere(target string) (bool, error) {
	at, err := mountedAt(target)
	if err != nil || at == nil {
		return false, err
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	namespaces := map[string]bool{}
	if own, err := os.Readlink("/proc/self/ns/mnt"); err == nil {
		namespaces[own] = false
	}
	for _, p := range processes {
		if mounts(p, at, namespaces) {
			return true, nil
		}
	}
	return false, err
}
