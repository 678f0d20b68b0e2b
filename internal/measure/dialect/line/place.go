package line

import (
	"errors"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/usage"
)

// placeOf reads --place. A line that uses no storage gets a place that costs nothing.
func placeOf(tool Tool, f Flags, kind string) (place.Spec, error) {
	if tool.Web && kind != plan.Host {
		return place.Spec{Name: string(place.Tmpfs), Kind: place.Tmpfs}, nil
	}
	if f.Place == "" {
		if kind == plan.Host {
			return place.Spec{Name: string(place.Dir), Kind: place.Dir}, nil
		}
		if kind == plan.OCI {
			return place.Spec{Name: string(place.Bind), Kind: place.Bind}, nil // It has no volumes.
		}
		return place.Spec{Name: string(place.Volume), Kind: place.Volume}, nil
	}
	name, path, _ := strings.Cut(f.Place, ":")
	if !slices.Contains(place.Kinds, place.Kind(name)) {
		return place.Spec{}, usage.Errorf("--place %s: use dir, layer, bind, volume or tmpfs; dir and bind take a folder, as in bind:/srv/data", f.Place)
	}
	if path != "" && name != string(place.Dir) && name != string(place.Bind) {
		return place.Spec{}, usage.Errorf("--place %s: only dir and bind take a folder", f.Place)
	}
	if path != "" {
		switch st, err := os.Stat(path); {
		case errors.Is(err, os.ErrNotExist):
			return place.Spec{}, usage.Errorf("--place %s: %s does not exist: make the folder first", f.Place, path)
		case err != nil:
			return place.Spec{}, usage.Errorf("--place %s: %w", f.Place, err)
		case !st.IsDir():
			return place.Spec{}, usage.Errorf("--place %s: %s is not a folder", f.Place, path)
		}
	}
	return place.Spec{Name: name, Kind: place.Kind(name), Path: path}, nil
}

// networkOf is what the connections of a line go over, "" if it makes none.
func networkOf(tool Tool, f Flags, kind string) string {
	switch {
	case !tool.Web || f.Network != "":
		return f.Network
	case kind == plan.Docker:
		return engine.DefaultNetwork
	}
	return engine.HostNetwork
}

// refuseFlags says which of the flags mean nothing for the tool.
func refuseFlags(tool Tool, f Flags) error {
	switch {
	case tool.Web && (f.Place != "" || len(f.Destructive) > 0):
		return usage.Errorf("%s asks a server and uses no storage: leave out --place and --destructive", tool.Name)
	case tool.Web && f.Limits.IO():
		return usage.Errorf("%s asks a server and uses no storage: leave out the limits on I/O", tool.Name)
	case f.Limits.IO() && f.Place == "" && (f.Engine == "" || f.Engine == plan.Host):
		return usage.Errorf("limits on I/O need the device under a place, and this line has no place: give --place dir:PATH, or --engine oci or docker")
	case !tool.Web && f.Network != "":
		return usage.Errorf("%s uses no network: leave out --network", tool.Name)
	}
	return nil
}

// here reports whether a line that asks a server does so from this process: nothing was said of where else, nor is
// anything to be kept.
func (f Flags) here() bool {
	return f.Engine == "" && f.Image == "" && f.Network == "" && f.Isolation == "" && !f.Record && f.Limits.IsZero()
}
