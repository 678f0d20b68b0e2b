package device

import "path/filepath"

// relativeUpper looks for the upper folder of an overlay that was mounted with a relative name. The working folder of that mount
// isn't known, so every folder above a mount point is tried, the overlay's own first. The right one has the attributes of the
// overlay's root folder. "": there is none.
func (t *tracer) relativeUpper(m Mount) string {
	tried := map[string]bool{}
	look := func(point string) string {
		for at := filepath.Dir(point); !tried[at]; at = filepath.Dir(at) {
			tried[at] = true
			if upper := filepath.Join(at, m.Upper); sameRoot(m.Point, upper) {
				return upper
			}
		}
		return ""
	}
	if upper := look(m.Point); upper != "" {
		return upper
	}
	for i := range t.mounts {
		if upper := look(filepath.Join(t.mounts[i].Point, "x")); upper != "" {
			return upper
		}
	}
	return ""
}
