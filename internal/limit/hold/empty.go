package hold

import (
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/refusal"
)

// Empty refuses limits on devices of which one has nothing in it: data that is put into it later is another's.
func Empty(fs device.FS, devices []explain.Spot) error {
	for _, d := range devices {
		if dev, err := fs.Disk(d.Number()); err == nil && dev.Size == 0 {
			return &refusal.Error{Act: refusal.Limited, What: fmt.Sprintf("%s (%s)", d.Name, d.Number()), Why: "it is empty: it has no size, like a loop device without a file or a drive without a medium",
				Fix: "attach it first; plimsoll limit clear removes its old limits"}
		}
	}
	return nil
}
