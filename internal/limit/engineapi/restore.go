package engineapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A Config is a copy of the limits that an engine has stored for a container.
type Config struct{ host *container.HostConfig }

// Limits are those that the container's next start would set.
func (c Config) Limits() Resources { return stored(c.host) }

// Config returns what the engine has stored now, for Restore.
func (a *API) Config(ctx context.Context, id string) (Config, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	in, err := a.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Config{}, fmt.Errorf("container %.12s: %w", id, err)
	}
	if in.Container.HostConfig == nil {
		return Config{}, fmt.Errorf("container %.12s: the daemon does not report its limits", id)
	}
	return Config{in.Container.HostConfig}, nil
}

// Restore makes the engine store what it had stored before Set or Forget. The error lists the differences that are left:
// an update can't remove memory and CPUs if there was no limit before.
func (a *API) Restore(ctx context.Context, id string, before Config) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	now, err := a.Config(ctx, id)
	if err != nil || len(differences(before, now)) == 0 {
		return err
	}
	if a.daemon.Name == "podman" {
		err = a.callPodman(ctx, id, podmanResources(before.host, before.Limits()))
	} else {
		err = a.restoreDocker(ctx, id, before.host, touched(before.host.Resources, now.host.Resources))
	}
	if err != nil {
		return err
	}
	if now, err = a.Config(ctx, id); err != nil {
		return err
	}
	if d := differences(before, now); len(d) > 0 {
		return fmt.Errorf("%s can't take back all by an update: %s", a.title(), strings.Join(d, ", "))
	}
	return nil
}

// differences describes which stored limits differ from before.
func differences(before, now Config) (words []string) {
	was, is := before.Limits().Words(), now.Limits().Words()
	for _, w := range was {
		if !slices.Contains(is, w) {
			words = append(words, "it has no "+w+" any more")
		}
	}
	for _, w := range is {
		if !slices.Contains(was, w) {
			words = append(words, "it has "+w)
		}
	}
	return words
}

// touched has the lists of devices that an update must name to replace the present lists with the old ones.
func touched(before, now container.Resources) container.Resources {
	rates := func(a, b []*blkiodev.ThrottleDevice) []*blkiodev.ThrottleDevice {
		same := slices.EqualFunc(a, b, func(x, y *blkiodev.ThrottleDevice) bool { return *x == *y })
		if same {
			return nil
		}
		return []*blkiodev.ThrottleDevice{}
	}
	r := container.Resources{
		BlkioDeviceReadBps: rates(before.BlkioDeviceReadBps, now.BlkioDeviceReadBps), BlkioDeviceWriteBps: rates(before.BlkioDeviceWriteBps, now.BlkioDeviceWriteBps),
		BlkioDeviceReadIOps: rates(before.BlkioDeviceReadIOps, now.BlkioDeviceReadIOps), BlkioDeviceWriteIOps: rates(before.BlkioDeviceWriteIOps, now.BlkioDeviceWriteIOps),
	}
	if !slices.EqualFunc(before.BlkioWeightDevice, now.BlkioWeightDevice, func(x, y *blkiodev.WeightDevice) bool { return *x == *y }) {
		r.BlkioWeightDevice = []*blkiodev.WeightDevice{}
	}
	return r
}
