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

// A rootfs is the root of a container whose process is not in it yet: a folder of the host, and what will be mounted there. Its
// links are the container's: "/var/run -> /run" is within it, whatever the host has there.
type rootfs struct {
	// mounts are the root and what is mounted below it, in their order, with destinations that have no links.
	mounts []target.Mount
}

// maxLinks is how many links a path may have, the kernel's own bound (path_resolution(7)).
const maxLinks = 40

// rootfsOf is that of a target. The runtime follows links in destinations too, one mount after the other.
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

// at is the mount that a path without links is in, and what the path is called there.
func (r *rootfs) at(p string) (m target.Mount, below string) {
	for _, o := range r.mounts {
		// Of two at one place the later hides the other.
		if (p == o.Destination || strings.HasPrefix(p, strings.TrimSuffix(o.Destination, "/")+"/")) && len(o.Destination) >= len(m.Destination) {
			m = o
		}
	}
	return m, path.Clean("/" + strings.TrimPrefix(p, m.Destination))
}

// resolve follows the links of a path. What isn't there yet has none.
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

// missing reports whether an error says that there is no such file, or that it would be below one that is no folder.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// beneath explains what a path is on in a container whose process is not in its root yet. Of one that isn't there, the nearest
// folder decides.
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
		// By the mount that it was opened on: others may write to a volume, and put a link there meanwhile.
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
