//go:build !linux

package doctor

import "os"

// writable reports whether the folder's mode lets anybody write.
func writable(dir string) bool {
	fi, err := os.Stat(dir)
	return err == nil && fi.IsDir() && fi.Mode().Perm()&0o222 != 0
}

// noexec is always false here: the probes of doctor show it.
func noexec(string) bool { return false }
