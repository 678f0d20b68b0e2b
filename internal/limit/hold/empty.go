package hold

import (
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/refusal"
)

// Empty refuses limits on devices if one of them has no medium: data that is inserted later belongs to someone else.
func Empty(fs device.FS, devices []explain.Spot) error {
	for _, d := range devices {
		if dev, err := fs.Disk(d.Number); err == nil && dev.Size == 0 {
			return &refusal.Error{Act: refusal.Limited, What: fmt.Sprintf("%s (%s)", d.Name, d.Number), Why: "it is empty: it has no size, like a loop device without a file or a drive without a medium",
				Fix: "attach it first; plimsoll limit clear removes its old limits"}
		}
	}
	return nil
}
