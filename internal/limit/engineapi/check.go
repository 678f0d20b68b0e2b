package engineapi

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
)

// windowsUpdate is in the words of Docker on Windows (moby, daemon/container/container_windows.go).
var windowsUpdate = &refusal.Error{
	What: "limits of a running container",
	Why:  "resource updating isn't supported on Windows",
	Fix:  "recreate the container with them",
}

// Refused is what a daemon whose containers run on a system answers to a change of a running container's limits, and removing is a
// change: nil where it takes some. Windows takes none, and weights not even at create.
func Refused(system string, set limit.Limits) error {
	switch {
	case system != "windows":
		return nil
	case set.Has(limit.Weight):
		return Resources{Weight: 100}.checkWindows(1)
	}
	return windowsUpdate
}

// leastMemory is Docker's, in bytes (moby, daemon/daemon_unix.go, linuxMinMemory).
const leastMemory = 6 << 20

// checkCommon refuses numbers that no system accepts.
func (l Resources) checkCommon() error {
	switch {
	case math.IsNaN(l.CPUs), math.IsInf(l.CPUs, 0), l.CPUs < 0:
		return fmt.Errorf("cpus %v is not a number of CPUs", l.CPUs)
	case l.CPUShares < 0:
		return fmt.Errorf("cpu-shares %d is negative", l.CPUShares)
	case l.Memory < 0:
		return fmt.Errorf("memory %d is negative", l.Memory)
	}
	for _, d := range l.Devices {
		if d.Path == "" {
			return fmt.Errorf("device %s has no path, and the engine wants one", d.Number)
		}
		if d.Weight != 0 && (d.Weight < 10 || d.Weight > 1000) {
			return fmt.Errorf("weight %d of %s: an engine takes 10 to 1000", d.Weight, d.Path)
		}
	}
	if l.Weight != 0 && (l.Weight < 10 || l.Weight > 1000) {
		return fmt.Errorf("weight %d: an engine takes 10 to 1000", l.Weight)
	}
	return nil
}

// checkLinux refuses what a daemon with Linux containers refuses, in its words (moby,
// daemon/daemon_unix.go and daemon/internal/runconfig/hostconfig_unix.go). cpus is how many it
// has, 0 if unknown.
func (l Resources) checkLinux(cpus int) error {
	if err := l.checkCommon(); err != nil {
		return err
	}
	no := func(what, why string) error {
		return &refusal.Error{What: what, Why: why, Fix: "limit a device: its bytes and operations per second"}
	}
	switch {
	case l.SystemBPS != 0:
		return no("system drive's bps", "invalid option: QoS maximum bandwidth configuration is not supported on linux")
	case l.SystemIOPS != 0:
		return no("system drive's iops", "invalid option: QoS maximum IOPs configuration is not supported on linux")
	case l.CPUPercent != 0:
		return &refusal.Error{What: "cpu percent", Why: "linux does not support CPU percent", Fix: "use cpus"}
	case l.CPUCount != 0:
		return &refusal.Error{What: "cpu count", Why: "it is for Windows containers", Fix: "use cpus"}
	case l.Isolation != "" && l.Isolation != "default":
		return &refusal.Error{What: "isolation " + l.Isolation, Why: fmt.Sprintf("invalid isolation (%s): linux only supports 'default'", l.Isolation)}
	case l.Memory != 0 && l.Memory < leastMemory:
		return fmt.Errorf("memory %d: Minimum memory limit allowed is 6MB", l.Memory)
	}
	return l.checkCPUs(cpus)
}

func (l Resources) checkCPUs(cpus int) error {
	if l.CPUs != 0 && (l.CPUs < 0.01 || cpus > 0 && l.CPUs > float64(cpus)) {
		return fmt.Errorf("cpus %g: range of CPUs is from 0.01 to %[2]d.00, as there are only %[2]d CPUs available", l.CPUs, cpus)
	}
	return nil
}

// checkWindows refuses what a daemon with Windows containers refuses, in its words (moby,
// daemon/daemon_windows.go and daemon/internal/runconfig/hostconfig_windows.go). Of two ways to limit processors it
// would take one and drop the other with a warning: that is refused, too.
func (l Resources) checkWindows(cpus int) error {
	if err := l.checkCommon(); err != nil {
		return err
	}
	no := func(option string) error {
		return &refusal.Error{What: option, Why: "invalid option: Windows does not support " + option, Fix: "limit the system drive as a whole: its bytes and operations per second"}
	}
	for _, d := range l.Devices {
		switch {
		case d.ReadBPS != 0:
			return no("BlkioDeviceReadBps")
		case d.ReadIOPS != 0:
			return no("BlkioDeviceReadIOps")
		case d.WriteBPS != 0:
			return no("BlkioDeviceWriteBps")
		case d.WriteIOPS != 0:
			return no("BlkioDeviceWriteIOps")
		case d.Weight != 0:
			return no("BlkioWeightDevice")
		}
	}
	if l.Weight != 0 {
		return no("BlkioWeight")
	}
	switch {
	case !slices.Contains([]string{"", "default", "process", "hyperv"}, strings.ToLower(l.Isolation)):
		return fmt.Errorf("invalid isolation (%s): Windows supports 'default', 'process', or 'hyperv'", l.Isolation)
	case l.CPUShares > 10000:
		return fmt.Errorf("cpu-shares %d: range of CPUShares is from 1 to 10000", l.CPUShares)
	case l.CPUPercent < 0 || l.CPUPercent > 100:
		return fmt.Errorf("cpu percent %d: range of CPUPercent is from 1 to 100", l.CPUPercent)
	case l.CPUCount < 0:
		return fmt.Errorf("cpu count %d: invalid CPUCount: CPUCount cannot be negative", l.CPUCount)
	case l.CPUs > 0 && l.CPUPercent > 0:
		return fmt.Errorf("conflicting options: Nano CPUs and CPU Percent cannot both be set")
	case l.CPUs > 0 && l.CPUShares > 0:
		return fmt.Errorf("conflicting options: Nano CPUs and CPU Shares cannot both be set")
	}
	if !strings.EqualFold(l.Isolation, "hyperv") {
		switch {
		case l.CPUCount > 0 && l.CPUShares > 0:
			return fmt.Errorf("conflicting options: CPU count takes priority over CPU shares on Windows Server Containers; give one of them")
		case l.CPUCount > 0 && l.CPUPercent > 0:
			return fmt.Errorf("conflicting options: CPU count takes priority over CPU percent on Windows Server Containers; give one of them")
		case l.CPUShares > 0 && l.CPUPercent > 0:
			return fmt.Errorf("conflicting options: CPU shares takes priority over CPU percent on Windows Server Containers; give one of them")
		}
	}
	return l.checkCPUs(cpus)
}

// checkDevices refuses anything but whole disks. Docker takes any path, and the kernel answers
// "no such device" to what Docker makes of it.
func checkDevices(devices []Device) error {
	for _, d := range devices {
		st, err := os.Stat(d.Path)
		if err != nil {
			return fmt.Errorf("device %s: %w", d.Path, err)
		}
		if st.Mode()&os.ModeDevice == 0 || st.Mode()&os.ModeCharDevice != 0 {
			return fmt.Errorf("%s is not a block device; plimsoll limit explain %s shows the one below it", clean.Name(d.Path), clean.Shell(d.Path))
		}
		number, ok := device.BlockNode(d.Path)
		if !ok {
			continue
		}
		if d.Number.Major != 0 && d.Number != number {
			return fmt.Errorf("%s is device %s, and not %s", d.Path, number, d.Number)
		}
		dir, err := filepath.EvalSymlinks("/sys/dev/block/" + number.String())
		if err != nil {
			continue // The kernel answers for it.
		}
		if _, why := device.LimitedFolder(dir); why != "" {
			return fmt.Errorf("device %s: %s; plimsoll limit explain %s shows its disk", clean.Name(d.Path), why, clean.Shell(d.Path))
		}
	}
	return nil
}
