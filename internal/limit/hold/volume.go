package hold

import (
	"fmt"
	"path/filepath"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/refusal"
)

// LookVolume explains the devices of a volume of this machine. The error says why that is unknown.
func (h *Holder) LookVolume(v target.Target) (*explain.Explanation, error) {
	if v.Elsewhere != "" {
		return nil, elsewhere(v)
	}
	path, err := volumeData(v)
	if err != nil {
		return nil, err
	}
	return h.Explain.Path(path)
}

// volumeData returns the host's path of a volume's data.
func volumeData(v target.Target) (string, error) {
	var m target.Mount
	if len(v.Mounts) > 0 {
		m = v.Mounts[0]
	}
	no := func(why string) error {
		return &refusal.Error{Act: refusal.Limited, What: v.Ref(), Why: why, Fix: "start a container with the volume"}
	}
	switch {
	case m.Source == "":
		return "", no("its driver " + m.Driver + " shows the volume's folder only while a container has it mounted")
	case m.Later == "":
		return m.Source, nil
	case !filepath.IsAbs(m.Later):
		return "", no(fmt.Sprintf("no container has it mounted, and until then its data (%s) is on no disk that is known", m.Later))
	}
	return m.Later, nil
}
