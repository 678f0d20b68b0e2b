package engineapi

import (
	"strings"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/limit"
)

// Create puts limits into the request that makes a container: host's resources and isolation
// are set, and all else in it stays. What the daemon would refuse is refused in its words, and
// so is what it would drop with a warning, both before it is asked.
func Create(d *dockerapi.Daemon, l Resources, host *container.HostConfig) error {
	if d.OS == "windows" {
		if err := l.checkWindows(d.Info.NCPU); err != nil {
			return err
		}
		host.CPUCount, host.CPUPercent = l.CPUCount, l.CPUPercent
		host.IOMaximumIOps, host.IOMaximumBandwidth = l.SystemIOPS, l.SystemBPS
		host.Isolation = container.Isolation(strings.ToLower(l.Isolation))
	} else {
		if err := l.checkLinux(d.Info.NCPU); err != nil {
			return err
		}
		if d.Elsewhere == "" {
			if err := checkDevices(l.Devices); err != nil {
				return err
			}
		}
		if err := (&API{daemon: d}).offersAtCreate(l); err != nil {
			return err
		}
		setDevices(&host.Resources, l.Devices)
		host.BlkioWeight = l.Weight
	}
	host.NanoCPUs, host.CPUShares, host.Memory = limit.NanoCPUs(l.CPUs), l.CPUShares, l.Memory
	return nil
}

// setDevices writes the lists of devices. A list that nothing is in stays nil, which changes
// nothing in an update.
func setDevices(r *container.Resources, devices []Device) {
	rate := func(list *[]*blkiodev.ThrottleDevice, path string, rate uint64) {
		if rate != 0 {
			*list = append(*list, &blkiodev.ThrottleDevice{Path: path, Rate: rate})
		}
	}
	for _, d := range devices {
		rate(&r.BlkioDeviceReadBps, d.Path, d.ReadBPS)
		rate(&r.BlkioDeviceWriteBps, d.Path, d.WriteBPS)
		rate(&r.BlkioDeviceReadIOps, d.Path, d.ReadIOPS)
		rate(&r.BlkioDeviceWriteIOps, d.Path, d.WriteIOPS)
		if d.Weight != 0 {
			r.BlkioWeightDevice = append(r.BlkioWeightDevice, &blkiodev.WeightDevice{Path: d.Path, Weight: d.Weight})
		}
	}
}
