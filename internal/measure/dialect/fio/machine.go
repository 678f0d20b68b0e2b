package fio

import (
	"os"
	"runtime"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/fingerprint"
)

// MachineWord is what a keyword of job files says of this machine, 0 if it isn't known: a Source's Machine.
func MachineWord(keyword string) int64 {
	switch keyword {
	case "pagesize":
		return int64(os.Getpagesize())
	case "ncpus":
		return int64(runtime.NumCPU())
	}
	return fingerprint.Machine(device.Host()).Memory >> 20
}

// IsDevice reports whether there is a device at path: a Source's Device.
func IsDevice(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&os.ModeDevice != 0
}
