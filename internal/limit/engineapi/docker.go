package engineapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/limit"
	"plimsoll/internal/text/refusal"
)

// setDocker sets limits by POST /containers/ID/update.
func (a *API) setDocker(ctx context.Context, id string, l Resources) (Outcome, error) {
	in, err := a.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Outcome{}, fmt.Errorf("container %.12s: %w", id, err)
	}
	before := in.Container.HostConfig
	if before == nil {
		return Outcome{}, fmt.Errorf("container %.12s: the daemon does not report its limits", id)
	}
	r := dockerUpdate(before, l)
	res, err := a.client.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{Resources: &r})
	if err == nil {
		err = discarded(res.Warnings)
	}
	if err == nil {
		// It may say yes and do nothing.
		err = a.took(ctx, id, l)
	}
	if err == nil && len(l.Devices) > 0 {
		err = a.holds(ctx, id, l.Devices)
	}
	if err != nil {
		return Outcome{}, errors.Join(fmt.Errorf("container %.12s: %w", id, err), a.restoreDocker(ctx, id, before, r))
	}
	return Outcome{Stored: true, Live: in.Container.State != nil && in.Container.State.Running, Notes: res.Warnings}, nil
}

// dockerUpdate is the request for limits beside those that there are.
func dockerUpdate(before *container.HostConfig, l Resources) container.Resources {
	r := container.Resources{BlkioWeight: l.Weight, CPUShares: l.CPUShares, Memory: l.Memory}
	setDevices(&r, l.Devices)
	// A list takes the place of the stored one.
	r.BlkioDeviceReadBps = withStored(r.BlkioDeviceReadBps, before.BlkioDeviceReadBps)
	r.BlkioDeviceWriteBps = withStored(r.BlkioDeviceWriteBps, before.BlkioDeviceWriteBps)
	r.BlkioDeviceReadIOps = withStored(r.BlkioDeviceReadIOps, before.BlkioDeviceReadIOps)
	r.BlkioDeviceWriteIOps = withStored(r.BlkioDeviceWriteIOps, before.BlkioDeviceWriteIOps)
	if r.BlkioWeightDevice != nil {
		for _, w := range before.BlkioWeightDevice {
			if !slices.ContainsFunc(r.BlkioWeightDevice, func(x *blkiodev.WeightDevice) bool { return x.Path == w.Path }) {
				r.BlkioWeightDevice = append(r.BlkioWeightDevice, w)
			}
		}
	}
	r.MemorySwap = swap(l.Memory, before.Memory, before.MemorySwap)
	switch {
	case l.CPUs == 0:
	case before.CPUQuota > 0 || before.CPUPeriod > 0:
		// The two ways to say it exclude each other.
		r.CPUQuota, r.CPUPeriod = limit.CPUQuota(l.CPUs, before.CPUPeriod)
	default:
		r.NanoCPUs = limit.NanoCPUs(l.CPUs)
	}
	return r
}

// withStored adds the stored limits of other devices to a list, unless that is nil.
func withStored(list, stored []*blkiodev.ThrottleDevice) []*blkiodev.ThrottleDevice {
	if list == nil {
		return nil
	}
	for _, s := range stored {
		if !slices.ContainsFunc(list, func(x *blkiodev.ThrottleDevice) bool { return x.Path == s.Path }) {
			list = append(list, s)
		}
	}
	return list
}

// swap is what memory and swap together may be for a new limit of memory, 0 to leave it: as much swap as
// memory, as Docker has it at the container's creation, unless there is more room already.
// Docker refuses a limit of memory alone that is above it, also where there was none.
func swap(memory, before, beforeSwap int64) int64 {
	switch {
	case memory == 0, before != 0 && beforeSwap >= memory:
		return 0
	case beforeSwap < 0, memory >= 1<<62:
		return -1
	}
	return 2 * memory
}

// discarded turns warnings that something was not done into an error.
func discarded(warnings []string) error {
	for _, w := range warnings {
		if strings.Contains(w, "discarded") {
			return &refusal.Error{What: "the limits", Why: w, Fix: "plimsoll doctor shows what this machine can do"}
		}
	}
	return nil
}

// took fails unless l is among what the engine has stored.
func (a *API) took(ctx context.Context, id string, l Resources) error {
	c, err := a.Config(ctx, id)
	if err != nil {
		return err
	}
	now := c.Limits()
	if l.CPUs != 0 && limit.SameCPUs(l.CPUs, now.CPUs, c.host.CPUPeriod) {
		// A quota is in whole microseconds.
		now.CPUs = l.CPUs
	}
	have := now.Words()
	for _, w := range l.Words() {
		if !slices.Contains(have, w) {
			return &refusal.Error{What: w, Why: a.title() + " accepts it, but does not apply it", Fix: "set it in the container's control group"}
		}
	}
	return nil
}

// restoreDocker restores the limits from before a failed update, as far as an update can.
// Limits of r that did not exist before may stay.
func (a *API) restoreDocker(ctx context.Context, id string, before *container.HostConfig, r container.Resources) error {
	b := before.Resources
	back := container.Resources{BlkioWeight: b.BlkioWeight, CPUShares: b.CPUShares, Memory: b.Memory, MemorySwap: b.MemorySwap, CPUPeriod: b.CPUPeriod, CPUQuota: b.CPUQuota, NanoCPUs: b.NanoCPUs}
	if b.CPUQuota > 0 || b.CPUPeriod > 0 {
		back.NanoCPUs = 0
	}
	if a.takesDevices() {
		again := func(asked, stored []*blkiodev.ThrottleDevice) []*blkiodev.ThrottleDevice {
			if asked == nil {
				return nil
			}
			return append([]*blkiodev.ThrottleDevice{}, stored...)
		}
		back.BlkioDeviceReadBps = again(r.BlkioDeviceReadBps, b.BlkioDeviceReadBps)
		back.BlkioDeviceWriteBps = again(r.BlkioDeviceWriteBps, b.BlkioDeviceWriteBps)
		back.BlkioDeviceReadIOps = again(r.BlkioDeviceReadIOps, b.BlkioDeviceReadIOps)
		back.BlkioDeviceWriteIOps = again(r.BlkioDeviceWriteIOps, b.BlkioDeviceWriteIOps)
		if r.BlkioWeightDevice != nil {
			back.BlkioWeightDevice = append([]*blkiodev.WeightDevice{}, b.BlkioWeightDevice...)
		}
	}
	if _, err := a.client.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{Resources: &back}); err != nil {
		return fmt.Errorf("and its former limits could not be set again: %w", err)
	}
	return nil
}

// forgetDocker removes limits of devices from the stored settings, except those to keep. Other
// limits can't be removed: 0 leaves them as they are, and with version 2 of control groups CPU
// shares of 1024 differ from none.
func (a *API) forgetDocker(ctx context.Context, id string, keep []Device) error {
	r := container.Resources{
		BlkioDeviceReadBps: []*blkiodev.ThrottleDevice{}, BlkioDeviceWriteBps: []*blkiodev.ThrottleDevice{},
		BlkioDeviceReadIOps: []*blkiodev.ThrottleDevice{}, BlkioDeviceWriteIOps: []*blkiodev.ThrottleDevice{},
		BlkioWeightDevice: []*blkiodev.WeightDevice{},
	}
	setDevices(&r, keep)
	if _, err := a.client.ContainerUpdate(ctx, id, client.ContainerUpdateOptions{Resources: &r}); err != nil {
		return fmt.Errorf("container %.12s: %w", id, err)
	}
	return nil
}
