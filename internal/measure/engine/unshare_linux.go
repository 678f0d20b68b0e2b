package engine

import "os"

// CanUnshare reports whether this process may make mounts in a namespace of its
// own. Being root is asked, not tried: CAP_SYS_ADMIN without it is rare, and
// the mount itself tells.
func CanUnshare() bool { return os.Geteuid() == 0 }
