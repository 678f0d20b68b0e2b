package oci

import (
	"fmt"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// hideBelow makes a folder of an overlay's lower layer hide the content of the layers below it at its path (the kernel's
// Documentation/filesystems/overlayfs.rst, "whiteouts and opaque directories").
func hideBelow(dir string) error {
	if err := eintr.Retry(func() error { return unix.Setxattr(dir, "trusted.overlay.opaque", []byte("y"), 0) }); err != nil {
		return fmt.Errorf("make %s opaque: %w", dir, err)
	}
	return nil
}
