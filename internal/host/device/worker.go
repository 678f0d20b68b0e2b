package device

import (
	"fmt"
	"strconv"
)

// OfMount finds what a worker's folder stands on from what the worker said of
// its own mount. The worker may be in a container; its overlay's upper folder is
// a path of the host nevertheless, as the kernel remembers it. It must run under the kernel
// that f shows: a worker in a virtual machine talks of other devices with the same numbers.
func (f FS) OfMount(m Mount) (*Stack, error) {
	mounts, err := f.mounts()
	if err != nil {
		return nil, err
	}
	if m.FSType == "overlay" && m.Upper != "" {
		// The upper folder exists on the host, where it may be behind a link.
		if real, err := resolve(m.Upper); err == nil && m.Upper[0] == '/' {
			m.Upper = real
		}
	}
	t := tracer{fs: f, mounts: mounts}
	n, err := t.whole(m, 0)
	return stackOf(n), err
}

// OfInside finds what a path of a container stands on, from the mounts that its process pid sees and the number of
// the one that the path is in: a path alone would have to be followed by the container's own links.
func (f FS) OfInside(pid, mountID int) (*Stack, error) {
	mounts, err := f.mountsOf(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	for _, m := range mounts {
		if m.ID == mountID {
			return f.OfMount(m)
		}
	}
	return nil, fmt.Errorf("process %d has no mount of number %d: it was unmounted, or the process has ended", pid, mountID)
}
