package main

import (
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/refusal"
)

// empty refuses limits on a device that has nothing in it: data that is put into it later is another's.
func (l *limiter) empty(s *hold.Scope, c limit.Change) error {
	if !c.Set.IO() {
		return nil
	}
	return empty(l.FS, s.Devices())
}

// empty is why one of some devices can't be limited that has nothing in it.
func empty(fs device.FS, devices []explain.Spot) error {
	for _, d := range devices {
		if dev, err := fs.Disk(d.Number()); err == nil && dev.Size == 0 {
			return &refusal.Error{Act: refusal.Limited, What: fmt.Sprintf("%s (%s)", d.Name, d.Number()), Why: "it is empty: it has no size, like a loop device without a file or a drive without a medium",
				Fix: "attach it first; plimsoll limit clear removes its old limits"}
		}
	}
	return nil
}
