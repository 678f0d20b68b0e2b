package limit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/text/nearest"
	"plimsoll/internal/text/size"
)

// A Key names one kind of limit, as plans, policies and records spell it. The option of
// the command line has dashes: see Flag.
type Key string

// The keys.
const (
	ReadBPS   Key = "read_bps"
	WriteBPS  Key = "write_bps"
	ReadIOPS  Key = "read_iops"
	WriteIOPS Key = "write_iops"
	Weight    Key = "weight"
	Latency   Key = "latency"
	Memory    Key = "memory"
	CPUs      Key = "cpus"
	CPUShares Key = "cpu_shares"
)

// Keys lists them all, in the order of tables. Don't change it.
var Keys = []Key{ReadBPS, WriteBPS, ReadIOPS, WriteIOPS, Weight, Latency, Memory, CPUs, CPUShares}

// Windows' own keys, in Docker's words for them (docker run --io-maxiops, --io-maxbandwidth).
const (
	SystemIOPS Key = "io_maxiops"
	SystemBPS  Key = "io_maxbandwidth"
)

// SystemKeys are the keys that only a daemon of Windows containers supports, when it makes a container. They are not among
// Keys: no control group has them, and they can't be changed later.
var SystemKeys = []Key{SystemIOPS, SystemBPS}

var everyKey = slices.Concat(Keys, SystemKeys)

// bytes reports whether the values of k are amounts of bytes.
func (k Key) bytes() bool { return k == ReadBPS || k == WriteBPS || k == Memory || k == SystemBPS }

// Flag is the option of the command line: "--read-bps".
func (k Key) Flag() string { return "--" + strings.ReplaceAll(string(k), "_", "-") }

// Rate reports whether k is a number of bytes or I/Os a second on a device. Only these
// can be percentages of what was measured.
func (k Key) Rate() bool { return k == ReadBPS || k == WriteBPS || k == ReadIOPS || k == WriteIOPS }

// PerSecond writes a rate in the unit of k: "8 MiB/s", "500 IOPS", "0.25 CPUs".
func (k Key) PerSecond(v float64) string {
	switch {
	case k.IOPS():
		return size.Count(v) + " IOPS"
	case k == CPUs:
		return fmt.Sprintf("%.2f CPUs", v)
	}
	return size.Rate(v)
}

// IOPS reports whether k is a rate of I/Os.
func (k Key) IOPS() bool { return k == ReadIOPS || k == WriteIOPS }

// Writes reports whether k is a rate of writes.
func (k Key) Writes() bool { return k == WriteBPS || k == WriteIOPS }

// IO reports whether the block layer holds k; the others are held by the CPU scheduler and the
// memory controller.
func (k Key) IO() bool { return k.Rate() || k == Weight || k == Latency }

// ParseKey reads a key as plans or the command line spell it: "read_bps", "--read-bps".
func ParseKey(s string) (Key, error) {
	k := Key(strings.ReplaceAll(strings.TrimPrefix(s, "--"), "-", "_"))
	if slices.Contains(Keys, k) {
		return k, nil
	}
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = string(k)
	}
	if word := nearest.Word(string(k), names); word != "" {
		return "", fmt.Errorf("%q is not a kind of limit: did you mean %s?", s, word)
	}
	return "", fmt.Errorf("%q is not a kind of limit: there are %s", s, strings.Join(names, ", "))
}

// Bounds of the values, both included.
const (
	// MinRate is the least bytes or I/Os a second: io.max of cgroup v2 refuses 0 and 1, and
	// 0 is no limit in v1 (tg_set_conf and tg_set_limit in the kernel's block/blk-throttle.c).
	MinRate = 2
	// MaxBPS is 1 PiB/s. Kernels before 6.1 multiply the rate by the time waited in 64 bits, so that
	// more could wrap around to a tight limit (tg_within_bps_limit).
	MaxBPS = int64(1) << 50
	// MaxIOPS is the greatest value that is a limit. The kernel keeps IOPS in 32 bits, and all ones
	// mean no limit. v1 cuts off higher bits, so that 2^32 would become 0.
	MaxIOPS = int64(1)<<32 - 2
	// MinWeight, MaxWeight and DefaultWeight are io.weight's (CGROUP_WEIGHT_MIN, _MAX and
	// _DFL in the kernel's include/linux/cgroup.h).
	MinWeight, MaxWeight, DefaultWeight = 1, 10000, 100
	// MinLatency is the unit of io.latency. MaxLatency is far above what it can do: its
	// longest window is a second (BLKIOLATENCY_MAX_WIN_SIZE in block/blk-iolatency.c).
	MinLatency, MaxLatency = time.Microsecond, 10 * time.Second
	// MinMemory is Docker's; less doesn't start a container.
	MinMemory, MaxMemory = int64(6) << 20, int64(1) << 50
	// MinCPUs gives the least quota that the kernel takes, 1 ms, of the usual period of 100 ms
	// (min_cfs_quota_period in kernel/sched/core.c).
	MinCPUs, MaxCPUs = 0.01, 4096
	// MinCPUShares, MaxCPUShares and DefaultCPUShares are cpu.shares' (MIN_SHARES and MAX_SHARES in
	// kernel/sched/sched.h).
	MinCPUShares, MaxCPUShares, DefaultCPUShares = 2, 1 << 18, 1024
)

// A bound is the range of a key's values, with the text for a value outside of it.
type bound struct {
	min, max float64
	// low and high are the reasons for the ends of the range, and end in "; " unless they are empty.
	low, high string
	// example is a good value.
	example string
}

var bounds = map[Key]bound{
	ReadBPS: bpsBound, WriteBPS: bpsBound, ReadIOPS: iopsBound, WriteIOPS: iopsBound,
	Weight:     {min: MinWeight, max: MaxWeight, example: "200"},
	Latency:    {min: float64(MinLatency), max: float64(MaxLatency), example: "5ms"},
	Memory:     {min: float64(MinMemory), max: float64(MaxMemory), low: "no container starts with so little; ", example: "4GiB"},
	CPUs:       {min: MinCPUs, max: MaxCPUs, example: "1.5"},
	CPUShares:  {min: MinCPUShares, max: MaxCPUShares, example: "512"},
	SystemIOPS: {min: 1, max: float64(MaxIOPS), example: "500"},
	SystemBPS:  {min: 1, max: float64(MaxBPS), example: "10MiB"},
}

const rateLow = "version 2 of cgroups refuses 0 and 1; "

var (
	bpsBound  = bound{min: MinRate, max: float64(MaxBPS), low: rateLow, example: "10MiB"}
	iopsBound = bound{min: MinRate, max: float64(MaxIOPS), low: rateLow, high: "the kernel keeps IOPS in 32 bits; ", example: "500"}
)

// fix says what to write if the limit may also be removed.
func (b bound) fix(k Key) string {
	return fmt.Sprintf("%s, or %s for no limit", b.within(k), None)
}

// within says which values to write.
func (b bound) within(k Key) string {
	min, max := fmt.Sprint(b.min), fmt.Sprintf("%.0f", b.max)
	switch {
	case k.bytes():
		min, max = size.Format(int64(b.min)), size.Format(int64(b.max))
	case k == Latency:
		min, max = size.FormatDuration(MinLatency), size.FormatDuration(MaxLatency)
	}
	return fmt.Sprintf("write %s to %s, such as %s", min, max, b.example)
}
