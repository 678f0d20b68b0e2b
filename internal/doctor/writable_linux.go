package doctor

import "golang.org/x/sys/unix"

// writable asks the kernel instead of writing: doctor leaves no trace.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }
