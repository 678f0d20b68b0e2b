package docker

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// api is the daemon in the words of those who give it limits.
func (d *daemonInfo) api() *dockerapi.Daemon {
	return &dockerapi.Daemon{Name: d.name, Version: d.version, APIVersion: d.apiVersion, OS: d.os, Arch: d.arch, Elsewhere: d.elsewhere, Info: d.info, Components: d.components}
}

// setLimits puts a session's limits into the request that makes its container. devices are those that its rates
// are for. What the daemon would refuse, or take without effect, is a *refusal.Error in its words.
func setLimits(d *daemonInfo, spec engine.Spec, devices []explain.Spot, host *container.HostConfig) error {
	l := spec.Limits
	ask := engineapi.Limits{
		CPUs: l.CPUs, CPUShares: l.CPUShares, Memory: l.Memory,
		SystemIOPS: uint64(l.SystemIOPS), SystemBPS: uint64(l.SystemBPS), Isolation: spec.Isolation,
	}
	if d.windows() {
		askWindows(&ask, l)
	}
	for _, s := range devices {
		ask.Devices = append(ask.Devices, engineapi.Device{
			// sysfs writes "!" for the "/" of names such as cciss/c0d0.
			Path: "/dev/" + strings.ReplaceAll(s.Name, "!", "/"), Number: s.Number(),
			ReadBPS: uint64(l.ReadBPS), WriteBPS: uint64(l.WriteBPS), ReadIOPS: uint64(l.ReadIOPS), WriteIOPS: uint64(l.WriteIOPS),
		})
	}
	err := engineapi.Create(d.api(), ask, host)
	var u *refusal.Error
	if errors.As(err, &u) {
		return &refusal.Error{Engine: "docker", What: "limit " + u.What, Why: u.Why, Fix: u.Fix}
	}
	if err != nil {
		return fmt.Errorf("limits %s: %w", l.Name, err)
	}
	if !d.windows() {
		// Nothing is swapped: with the same limit the oci engine kills, too. Windows does not support MemorySwap.
		host.MemorySwap = l.Memory
	}
	return nil
}

// limitedDevices are the devices that the rates of a session go on, as far as that can be known before its container is
// made; CheckHold sees whether they are the right ones. folder is that of a bind place. nil: it has no rates.
func limitedDevices(d *daemonInfo, spec engine.Spec, folder string) ([]explain.Spot, error) {
	l := &engine.IOLimits{Engine: "docker", Asked: spec.Limits}
	keys := l.Asks()
	if len(keys) == 0 || d.windows() {
		return nil, nil // checkSpec has refused those of a Windows container.
	}
	if !d.local {
		return nil, l.No(keys, "the device under the place can't be found: "+d.elsewhere, "run plimsoll on that machine")
	}
	path, err := pathOnDevice(l, keys, d, spec, folder)
	if err != nil {
		return nil, err
	}
	e, err := l.Explain(device.Host(), keys, path)
	if err != nil || len(engine.RateKeys(spec.Limits)) == 0 {
		return nil, err
	}
	return e.Hard, nil
}

// pathOnDevice is a path on what the data of a session will stand on.
func pathOnDevice(l *engine.IOLimits, keys []limit.Key, d *daemonInfo, spec engine.Spec, folder string) (string, error) {
	switch spec.Place.Kind {
	case place.Bind:
		return folder, nil
	case place.Layer:
		return d.info.DockerRootDir, nil
	case place.Tmpfs:
		return "", l.No(keys, engine.MemoryPlace, engine.IOLimitsFix)
	}
	if driver := volumeDriver(spec.Place); driver != "local" {
		return "", l.No(keys, "where the volumes of the driver "+driver+" lie is not known before one is mounted", "use bind with a folder on the same disk, or a volume of the driver local")
	}
	// As mount(8) takes them (https://docs.docker.com/reference/cli/docker/volume/create/, "Driver-specific options").
	switch kind, dev := spec.Place.DriverOpts["type"], spec.Place.DriverOpts["device"]; {
	case dev == "":
		return filepath.Join(d.info.DockerRootDir, "volumes"), nil
	case strings.HasPrefix(dev, "/") && (kind == "none" || strings.HasPrefix(dev, "/dev/")):
		return dev, nil
	default:
		return "", l.No(keys, "a volume of type "+kind+" stands on no block device of this machine", "limit it where it is served from, or memory, cpus and cpu_shares here")
	}
}
