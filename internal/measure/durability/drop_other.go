//go:build !linux

package durability

import "os"

// dropCache does nothing on this system.
func dropCache(*os.File) {}
