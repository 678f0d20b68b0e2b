package hold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
)

// A rootfs is the root of a container whose process has not entered it yet: a folder of the host, and what will be
// mounted in it. Its links resolve within the container: "/var/run -> /run" stays within it, whatever the host has
// there.
type rootfs struct {
	// mounts are the root and the mounts below it, in order. Their destinations contain no links.
	mounts []target.Mount
}

// maxLinks is the maximum number of links in a path, the same as the kernel's (path_resolution(7)).
const maxLinks = 40

// rootfsOf returns the rootfs of a target. The runtime follows links in destinations too, one mount after another.
func rootfsOf(t target.Target) (*rootfs, error) {
	r := &rootfs{[]target.Mount{{Source: t.Rootfs, Destination: "/"}}}
	for _, m := range t.Mounts {
		if m.Source == "" {
			continue
		}
		var err error
		if m.Destination, err = r.resolve(m.Destination); err != nil {
			return nil, err
		}
		r.mounts = append(r.mounts, m)
	}
	return r, nil
}

// at returns the mount that a path without links is in, and its path there.
func (r *rootfs) at(p string) (m target.Mount, below string) {
	for _, o := range r.mounts {
		// If two mounts have the same destination, the later hides the earlier.
		if (p == o.Destination || strings.HasPrefix(p, strings.TrimSuffix(o.Destination, "/")+"/")) && len(o.Destination) >= len(m.Destination) {
			m = o
		}
	}
	return m, path.Clean("/" + strings.TrimPrefix(p, m.Destination))
}

// resolve follows the links of a path. A part that doesn't exist yet has no links.
func (r *rootfs) resolve(p string) (string, error) {
	at, links := "/", 0
	for rest := strings.Split(p, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := path.Join(at, name)
		m, below := r.at(next)
		if name == "" || name == "." || name == ".." || below == "/" {
			at = next
			continue
		}
		to, err := inroot.Link(m.Source, below)
		if err != nil && !missing(err) {
			return "", err
		}
		if to == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: more than %d links, or one that leads to itself", p, maxLinks)
		}
		if path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// missing reports whether an error says that a file doesn't exist, or that its parent is not a folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// beneath explains a path in a container whose process has not entered its root yet. For a path that doesn't exist, the
// nearest existing folder decides.
func (h *Holder) beneath(t target.Target, p string) (*explain.Explanation, error) {
	r, err := rootfsOf(t)
	if err != nil {
		return nil, err
	}
	if p, err = r.resolve(p); err != nil {
		return nil, err
	}
	m, below := r.at(p)
	for ; below != "/"; below = path.Dir(below) {
		// Use the mount through which the file was opened: others may write to a volume and replace the path by a link.
		id, err := inroot.MountID(m.Source, below)
		if err == nil {
			return h.Explain.Inside(filepath.Join(m.Source, below), os.Getpid(), id)
		}
		if !missing(err) {
			return nil, err
		}
	}
	return h.Explain.Path(m.Source)
}
