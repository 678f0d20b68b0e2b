package engineapi

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/text/refusal"
)

// offersAtCreate refuses limits that the daemon's kernel does not support: the daemon would accept
// such a limit and drop it with a warning.
func (a *API) offersAtCreate(l Resources) error {
	info := a.daemon.Info
	no := func(what, why string) error {
		return &refusal.Error{What: what, Why: a.title() + " says: " + why, Fix: "plimsoll doctor shows what this machine can do"}
	}
	if info.CgroupDriver == "none" && len(l.Words()) > 0 {
		return no("limits", "Running in rootless-mode without cgroups")
	}
	for _, x := range []struct {
		what   string
		wanted bool
		// The name in Docker's warnings for each version of control groups; it reports this in
		// no other way (moby, daemon/info_unix.go).
		v1, v2 string
	}{
		{"read-bps", l.any(func(d Device) bool { return d.ReadBPS != 0 }), "blkio throttle.read_bps_device", "io.max (rbps)"},
		{"write-bps", l.any(func(d Device) bool { return d.WriteBPS != 0 }), "blkio throttle.write_bps_device", "io.max (wbps)"},
		{"read-iops", l.any(func(d Device) bool { return d.ReadIOPS != 0 }), "blkio throttle.read_iops_device", "io.max (riops)"},
		{"write-iops", l.any(func(d Device) bool { return d.WriteIOPS != 0 }), "blkio throttle.write_iops_device", "io.max (wiops)"},
		{"weight", l.Weight != 0, "blkio weight", "io.weight"},
		{"weight of a device", l.any(func(d Device) bool { return d.Weight != 0 }), "blkio weight_device", "io.weight (per device)"},
	} {
		for _, name := range []string{x.v1, x.v2} {
			if w := "No " + name + " support"; x.wanted && slices.ContainsFunc(info.Warnings, func(s string) bool { return strings.HasSuffix(s, w) }) {
				return no(x.what, w)
			}
		}
	}
	weights := l.Weight != 0 || l.any(func(d Device) bool { return d.Weight != 0 })
	switch {
	case weights && a.daemon.Name == "docker" && info.CgroupVersion != "2" && !cfqKernel(info.KernelVersion):
		// Docker looks for blkio.weight, which was removed with the scheduler CFQ, and doesn't warn about that.
		return no("weight", "Your kernel does not support Block I/O weight or the cgroup is not mounted. Weight discarded.")
	case l.CPUShares != 0 && !info.CPUShares:
		return no("cpu-shares", "No cpu shares support")
	case l.CPUs != 0 && !info.CPUCfsQuota:
		return no("cpus", "No cpu cfs quota support")
	case l.Memory != 0 && !info.MemoryLimit:
		return no("memory", "No memory limit support")
	}
	return nil
}

// any reports whether f is true for one of the devices.
func (l Resources) any(f func(Device) bool) bool { return slices.ContainsFunc(l.Devices, f) }

// cfqKernel reports whether a kernel is older than 5.0, which dropped CFQ.
func cfqKernel(release string) bool {
	major, _, _ := strings.Cut(release, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 5
}

// offers is offersAtCreate for an update.
func (a *API) offers(l Resources) error {
	if len(l.Devices) > 0 && !a.takesDevices() {
		return &refusal.Error{
			What: "limits of devices through " + a.title(),
			Why:  "before version 29.6 (API 1.55) it accepts them in an update and ignores them",
			Fix:  "set them in the container's control group, or recreate the container with them",
		}
	}
	return a.offersAtCreate(l)
}

// takesDevices reports whether an update may hold limits of devices.
func (a *API) takesDevices() bool {
	if a.daemon.Name == "podman" {
		return true
	}
	major, minor, _ := strings.Cut(a.daemon.APIVersion, ".")
	x, err := strconv.Atoi(major)
	y, yerr := strconv.Atoi(minor)
	return err == nil && yerr == nil && (x > 1 || x == 1 && y >= 55)
}

// title names the daemon: "docker 20.10.24 (API 1.41)".
func (a *API) title() string {
	return a.daemon.Name + " " + a.daemon.Version + " (API " + a.daemon.APIVersion + ")"
}
