package device

import (
	"fmt"
	"strconv"
)

// OfMount finds the devices below a worker's folder from the mount that the worker reported. The worker may be in a container; its
// overlay's upper folder is a path of the host nevertheless, as the kernel remembers it. The worker must run under the kernel that f
// shows: a virtual machine has other devices with the same numbers.
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

// OfInside finds the devices below a path of a container, from the mounts that the container's process pid sees and the number of
// the path's mount. The path alone would not do: it would have to be followed through the container's own links.
func (f FS) OfInside(pid, mountID int) (*Stack, error) {
	mounts, err := f.MountsOf(strconv.Itoa(pid))
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
