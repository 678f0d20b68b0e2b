// Package engineapi gives limits to an engine's own API: Docker's and Podman's update of a
// container, and the request that makes one.
//
// It is the right way if control groups can't be reached (a daemon on another machine, or
// Windows containers), and if the engine should store the limits, which it then sets again at
// the container's next start. Otherwise the groups themselves are better, since no engine can
// remove every limit that it can set:
//
//   - Docker's update sets limits, and removes them only from its stored settings. A device's
//     limit in the kernel is removed only by the rate 0, which version 2 of control groups refuses;
//     memory and CPUs can't be taken back at all (seen with 20.10 and with the API 1.56).
//   - Docker before 29.6 (API 1.55) accepts device limits and does nothing
//     (https://github.com/moby/moby/pull/52651). So its stored settings are read afterwards.
//   - A list of devices replaces what is stored, and adds to what the kernel has.
//   - runc before 1.4 ignores devices in an update (seen with 1.1.5 under Podman 4.3). So the
//     kernel is read afterwards, too.
//   - Before version 5.1, Podman's update lasts only as long as the container runs.
//   - Windows takes limits when the container is made, and none later.
package engineapi

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// Resources are the limits of a container in the units and scales of the engines' APIs. A zero means no limit, or
// leaves the limit as it is.
type Resources struct {
	// Devices are limits of block devices.
	Devices []Device
	// Weight applies to all disks without a weight of their own, from 10 to 1000.
	Weight uint16
	// CPUs is a number of processors, CPUShares their relative weight.
	CPUs      float64
	CPUShares int64
	// Memory is in bytes.
	Memory int64
	// SystemIOPS and SystemBPS (bytes per second) hold the system drive of a Windows container.
	SystemIOPS, SystemBPS uint64
	// CPUCount and CPUPercent are Windows' own ways to limit processors.
	CPUCount, CPUPercent int64
	// Isolation is process or hyperv on Windows; empty is the daemon's default.
	Isolation string
}

// A Device is a block device and its limits: rates in bytes and operations per second.
type Device struct {
	// Path is the device's node as the daemon sees it. Docker needs it; Podman's own API
	// needs Number.
	Path   string
	Number device.Number

	ReadBPS, WriteBPS, ReadIOPS, WriteIOPS uint64
	// Weight is from 10 to 1000.
	Weight uint16
}

// Words are the limits as they are written everywhere: "write_bps=10MiB on /dev/sdb", "memory=64MiB". Different limits have
// different words.
func (l Resources) Words() []string {
	var words []string
	add := func(name string, v uint64, on string) {
		if v != 0 {
			words = append(words, strings.TrimSuffix(fmt.Sprintf("%s=%d on %s", name, v, on), " on "))
		}
	}
	addBytes := func(k limit.Key, v uint64, on string) {
		if v > math.MaxInt64 {
			add(string(k), v, on)
		} else if v != 0 {
			words = append(words, strings.TrimSuffix(fmt.Sprintf("%s=%s on %s", k, size.Format(int64(v)), on), " on "))
		}
	}
	for _, d := range l.Devices {
		addBytes(limit.ReadBPS, d.ReadBPS, d.Path)
		addBytes(limit.WriteBPS, d.WriteBPS, d.Path)
		add(string(limit.ReadIOPS), d.ReadIOPS, d.Path)
		add(string(limit.WriteIOPS), d.WriteIOPS, d.Path)
		add(string(limit.Weight), uint64(d.Weight), d.Path)
	}
	add(string(limit.Weight), uint64(l.Weight), "")
	if l.CPUs != 0 {
		// An engine may have the quota that was made of it.
		words = append(words, fmt.Sprintf("%s=%g", limit.CPUs, float64(limit.NanoCPUs(l.CPUs))/1e9))
	}
	add(string(limit.CPUShares), uint64(l.CPUShares), "")
	addBytes(limit.Memory, uint64(l.Memory), "")
	add(string(limit.SystemIOPS), l.SystemIOPS, "")
	addBytes(limit.SystemBPS, l.SystemBPS, "")
	add("cpu_count", uint64(l.CPUCount), "")
	add("cpu_percent", uint64(l.CPUPercent), "")
	return words
}

// An Outcome is the result of limits that an engine accepted.
type Outcome struct {
	// Live is whether a running container has them, Stored whether its next start has them.
	Live, Stored bool
	// Notes are the engine's other messages.
	Notes []string
}

// An API is a daemon's.
type API struct {
	client  *client.Client
	daemon  *dockerapi.Daemon
	address dockerapi.Address
}

// Open connects to the daemon at host, as in DOCKER_HOST: a target's Host.
func Open(ctx context.Context, host string) (*API, error) {
	a, err := dockerapi.Find(host, nil)
	if err != nil {
		return nil, err
	}
	c, err := dockerapi.Open(a)
	if err != nil {
		return nil, err
	}
	d, err := dockerapi.Ask(ctx, c, a.Source)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &API{c, d, a}, nil
}

// Close ends the connection.
func (a *API) Close() error { return a.client.Close() }

// callTimeout is how long the daemon may take for an update, with the first limit of a disk,
// which waits until that is idle for a moment.
const callTimeout = 30 * time.Second

// Set gives limits to a container, in addition to those that it has. It sets all or none:
// if one is refused, the old limits are restored and the error has the reason.
func (a *API) Set(ctx context.Context, id string, l Resources) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if a.daemon.OS == "windows" {
		return Outcome{}, windowsUpdate
	}
	if err := l.checkLinux(a.daemon.Info.NCPU); err != nil {
		return Outcome{}, err
	}
	if a.daemon.Elsewhere == "" {
		if err := checkDevices(l.Devices); err != nil {
			return Outcome{}, err
		}
	}
	if err := a.offers(l); err != nil {
		return Outcome{}, err
	}
	if a.daemon.Name == "podman" {
		return a.setPodman(ctx, id, l)
	}
	return a.setDocker(ctx, id, l)
}

// Stored returns the limits that the engine would set at the container's next start.
func (a *API) Stored(ctx context.Context, id string) (Resources, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	in, err := a.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return Resources{}, fmt.Errorf("container %.12s: %w", id, err)
	}
	return stored(in.Container.HostConfig), nil
}

// Forget removes limits from the engine's stored settings, as far as it can. It returns the limits that
// are left, which the container's next start would set again. The kernel's limits may have changed afterwards:
// at an update of Docker's the runtime writes all limits that it knows again.
func (a *API) Forget(ctx context.Context, id string, which Which) (left Resources, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	before, err := a.Stored(ctx, id)
	if err != nil {
		return Resources{}, err
	}
	meant := which.In(before)
	if a.daemon.Name == "docker" && a.daemon.OS != "windows" && a.takesDevices() && len(meant.Devices) > 0 {
		if err := a.forgetDocker(ctx, id, which.others(before)); err != nil {
			return meant, err
		}
		if before, err = a.Stored(ctx, id); err != nil {
			return Resources{}, err
		}
	}
	return which.In(before), nil
}

// Keeps returns why the engine would not store limits of a running container for its next start, or nil if it
// would. It makes no request.
func (a *API) Keeps(l Resources) error {
	if a.daemon.Name == "podman" && a.forgets() {
		return &refusal.Error{What: "limits for the next start", Why: a.title() + " keeps an update while the container runs", Fix: "recreate the container with them, or upgrade to Podman 5.1"}
	}
	if a.daemon.OS == "windows" {
		return windowsUpdate
	}
	return a.offers(l)
}

// Title names the daemon: "docker 20.10.24 (API 1.41)".
func (a *API) Title() string { return a.title() }

// among reports whether a device is one of devices, by its number if that is known.
func among(devices []Device, d Device) bool {
	for _, x := range devices {
		if x.Path == d.Path || x.Number.Major != 0 && x.Number == d.Number {
			return true
		}
	}
	return false
}

// stored reads limits from a container's configuration.
func stored(h *container.HostConfig) Resources {
	if h == nil {
		return Resources{}
	}
	l := Resources{
		Weight: h.BlkioWeight, CPUs: float64(h.NanoCPUs) / 1e9, CPUShares: h.CPUShares, Memory: h.Memory,
		SystemIOPS: h.IOMaximumIOps, SystemBPS: h.IOMaximumBandwidth, CPUCount: h.CPUCount, CPUPercent: h.CPUPercent,
	}
	if !h.Isolation.IsDefault() {
		l.Isolation = string(h.Isolation)
	}
	if l.CPUs == 0 && h.CPUQuota > 0 {
		l.CPUs = limit.CPUsOf(h.CPUQuota, h.CPUPeriod)
	}
	at := map[string]int{}
	device := func(path string) *Device {
		i, ok := at[path]
		if !ok {
			d := Device{Path: path}
			d.Number, _ = device.BlockNode(path)
			i = len(l.Devices)
			at[path], l.Devices = i, append(l.Devices, d)
		}
		return &l.Devices[i]
	}
	for _, d := range h.BlkioDeviceReadBps {
		device(d.Path).ReadBPS = d.Rate
	}
	for _, d := range h.BlkioDeviceWriteBps {
		device(d.Path).WriteBPS = d.Rate
	}
	for _, d := range h.BlkioDeviceReadIOps {
		device(d.Path).ReadIOPS = d.Rate
	}
	for _, d := range h.BlkioDeviceWriteIOps {
		device(d.Path).WriteIOPS = d.Rate
	}
	for _, d := range h.BlkioWeightDevice {
		device(d.Path).Weight = d.Weight
	}
	return l
}
