package cgroup

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"plimsoll/internal/host/hierarchy"
)

// leaves lists g and every group below it, g first. Groups that are removed meanwhile are left out; if g itself is
// removed, the error is ErrGone.
func (h *Host) leaves(g *hierarchy.Group) ([]*hierarchy.Group, error) {
	out := []*hierarchy.Group{g}
	for i := 0; i < len(out); i++ {
		names, err := h.io.groups(out[i].Dir)
		if errors.Is(err, fs.ErrNotExist) {
			if i == 0 {
				return nil, ErrGone
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			below := *out[i]
			below.Dir, below.Path = filepath.Join(below.Dir, n), path.Join(below.Path, n)
			out = append(out, &below)
		}
	}
	return out, nil
}

// throttled lists the groups in which a target's rates are set.
func (h *Host) throttled(t *Target, g *hierarchy.Group) ([]*hierarchy.Group, error) {
	if g.Version == 2 || t.single {
		return []*hierarchy.Group{g}, nil
	}
	return h.leaves(g)
}
