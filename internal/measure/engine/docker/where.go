package docker

import (
	"cmp"

	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// isolationOf is how a container of Windows is kept apart, by its daemon's account and else as it was asked for. Linux knows
// no such choice.
func isolationOf(h *container.HostConfig, spec engine.Spec) string {
	if h.Isolation.IsDefault() {
		return spec.Isolation
	}
	return cmp.Or(string(h.Isolation), spec.Isolation)
}

// hostPath is where what is in a place is on the host, empty for memory and where unknown. target is its path in the container, folder
// the host's of a bind.
func (s *session) hostPath(c container.InspectResponse, p place.Spec, img *workerImage, target, folder string) string {
	switch p.Kind {
	case place.Bind:
		return folder
	case place.Volume:
		for _, m := range c.Mounts {
			if sameInContainer(m.Destination, target, img) {
				return m.Source + img.separator() + engine.FolderPrefix + s.name
			}
		}
	case place.Layer:
		upper := ""
		if c.GraphDriver != nil {
			upper = c.GraphDriver.Data["UpperDir"]
		}
		if upper == "" {
			upper = upperDir(s.info.PID)
		}
		if upper != "" {
			return upper + target
		}
	}
	return ""
}
