package engine

import "os"

// CanUnshare reports whether this process may make mounts in a namespace of its own. It only checks for root: CAP_SYS_ADMIN
// without root is rare, and the mount itself shows it.
func CanUnshare() bool { return os.Geteuid() == 0 }
