package load

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessUsage returns the usage of the process since it began, or nothing if that is unknown.
func ProcessUsage() Usage {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return Usage{}
	}
	return Usage{
		User:   time.Duration(ru.Utime.Nano()),
		System: time.Duration(ru.Stime.Nano()),
		MaxRSS: peakRSS(ru.Maxrss << 10),
	}
}

// peakRSS reads VmHWM. ru_maxrss, the fallback, is carried over exec from the parent, so a small worker would show its
// parent's size.
func peakRSS(fallback int64) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fallback
	}
	_, rest, ok := bytes.Cut(status, []byte("VmHWM:"))
	if !ok {
		return fallback
	}
	line, _, _ := bytes.Cut(rest, []byte(" kB"))
	kb, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return fallback
	}
	return kb << 10
}

// threadUsage returns the usage of the calling thread so far.
func threadUsage() ThreadUsage {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &ru); err != nil {
		return ThreadUsage{}
	}
	return ThreadUsage{
		User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()),
		Switches: ru.Nvcsw + ru.Nivcsw, MajorFaults: ru.Majflt, MinorFaults: ru.Minflt,
	}
}
