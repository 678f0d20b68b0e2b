package docker

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/moby/moby/api/types/container"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// setLimits adds a session's limits to the request that makes its container. devices are the devices of its rates. If the
// daemon would refuse a limit, or accept it without effect, the error is a *refusal.Error with its words.
func setLimits(d *daemonInfo, spec engine.Spec, devices []explain.Spot, host *container.HostConfig) error {
	l := spec.Limits
	ask := engineapi.Resources{
		CPUs: l.CPUs, CPUShares: l.CPUShares, Memory: l.Memory,
		SystemIOPS: uint64(l.SystemIOPS), SystemBPS: uint64(l.SystemBPS), Isolation: spec.Isolation,
	}
	if d.windows() {
		askWindows(&ask, l)
	}
	for _, s := range devices {
		ask.Devices = append(ask.Devices, engineapi.Device{
			Path: device.NodePath(s.Name), Number: s.Number,
			ReadBPS: uint64(l.ReadBPS), WriteBPS: uint64(l.WriteBPS), ReadIOPS: uint64(l.ReadIOPS), WriteIOPS: uint64(l.WriteIOPS),
		})
	}
	err := engineapi.Create(&d.Daemon, ask, host)
	var u *refusal.Error
	if errors.As(err, &u) {
		return &refusal.Error{Engine: "docker", What: "limit " + u.What, Why: u.Why, Fix: u.Fix}
	}
	if err != nil {
		return fmt.Errorf("limits %s: %w", l.Name, err)
	}
	if !d.windows() {
		// No swap: the oci engine kills at the same limit, too. Windows does not support MemorySwap.
		host.MemorySwap = l.Memory
	}
	return nil
}

// limitedDevices are the devices that a session's rates apply to, as far as they can be known before its container is made;
// CheckHold verifies them. folder is that of a bind place. It is nil without rates.
func limitedDevices(d *daemonInfo, spec engine.Spec, folder string) ([]explain.Spot, error) {
	l := &engine.IOLimits{Engine: "docker", Asked: spec.Limits}
	keys := l.Asked.Keys(limit.Key.IO)
	if len(keys) == 0 || d.windows() {
		return nil, nil // checkSpec has refused those of a Windows container.
	}
	if !d.local() {
		return nil, l.No(keys, "the device under the place can't be found: "+d.Elsewhere, "run plimsoll on that machine")
	}
	path, err := pathOnDevice(l, keys, d, spec, folder)
	if err != nil {
		return nil, err
	}
	e, err := l.Explain(device.Host(), keys, path)
	if err != nil || len(spec.Limits.Keys(limit.Key.Rate)) == 0 {
		return nil, err
	}
	return e.Hard, nil
}

// pathOnDevice is a host path on the device that will hold the session's data.
func pathOnDevice(l *engine.IOLimits, keys []limit.Key, d *daemonInfo, spec engine.Spec, folder string) (string, error) {
	switch spec.Place.Kind {
	case place.Bind:
		return folder, nil
	case place.Layer:
		return d.Info.DockerRootDir, nil
	case place.Tmpfs:
		return "", l.No(keys, engine.MemoryPlace, engine.IOLimitsFix)
	}
	if driver := volumeDriver(spec.Place); driver != "local" {
		return "", l.No(keys, "it is not known where the driver "+driver+" keeps its volumes before one is mounted", "use bind with a folder on the same disk, or a volume of the driver local")
	}
	// In the form of mount(8) (https://docs.docker.com/reference/cli/docker/volume/create/, "Driver-specific options").
	switch kind, dev := spec.Place.DriverOpts["type"], spec.Place.DriverOpts["device"]; {
	case dev == "":
		return filepath.Join(d.Info.DockerRootDir, "volumes"), nil
	case strings.HasPrefix(dev, "/") && (kind == "none" || strings.HasPrefix(dev, "/dev/")):
		return dev, nil
	default:
		return "", l.No(keys, "a volume of type "+kind+" is not on a block device of this machine", "limit it where it is served from, or memory, cpus and cpu_shares here")
	}
}
