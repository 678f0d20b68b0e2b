package docker

import (
	"cmp"

	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// isolationOf is how a Windows container is isolated: as its daemon reports, or else as it was asked for. Linux has no such
// choice.
func isolationOf(h *container.HostConfig, spec engine.Spec) string {
	if h.Isolation.IsDefault() {
		return spec.Isolation
	}
	return cmp.Or(string(h.Isolation), spec.Isolation)
}

// hostPath is the host's path of the data in a place, empty for memory and if unknown. target is its path in the container,
// folder the host folder of a bind, dataID the session whose data it is.
func (s *session) hostPath(c container.InspectResponse, p place.Spec, img *workerImage, target, folder, dataID string) string {
	switch p.Kind {
	case place.Bind:
		return folder
	case place.Volume:
		for _, m := range c.Mounts {
			if sameInContainer(m.Destination, target, img) {
				return m.Source + img.separator() + engine.FolderPrefix + dataID
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
