package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nodeDir lists the kernel's memory nodes (Documentation/ABI/stable/sysfs-devices-node).
const nodeDir = "/sys/devices/system/node"

// memPolicies maps policies to the kernel's numbers (include/uapi/linux/mempolicy.h).
var memPolicies = map[string]uintptr{MemPrefer: 1, MemBind: 2, MemInterleave: 3, MemLocal: 4}

// kernelList reads a list of numbers in the kernel's format, such as 0-3,6.
func kernelList(path string) (all []int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, part := range strings.FieldsFunc(strings.TrimSpace(string(text)), func(r rune) bool { return r == ',' }) {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || b-a >= maxCPUs {
			return nil, fmt.Errorf("%s: %q is not a list of numbers", path, part)
		}
		for i := a; i <= b; i++ {
			all = append(all, i)
		}
	}
	return all, nil
}

// knownNodes returns the nodes that an option names, with AllNodes resolved. All of them must exist.
func knownNodes(option string, nodes []int, file string) ([]int, error) {
	there, err := kernelList(filepath.Join(nodeDir, file))
	if err != nil {
		return nil, &OptionError{option, fmt.Sprint(nodes), "the kernel names no memory nodes: " + err.Error()}
	}
	if slices.Equal(nodes, []int{AllNodes}) {
		return there, nil
	}
	for _, n := range nodes {
		if !slices.Contains(there, n) {
			return nil, &OptionError{option, fmt.Sprint(nodes), fmt.Sprintf("there is no such memory node here; there are %v (%s)", there, filepath.Join(nodeDir, file))}
		}
	}
	return nodes, nil
}

// nodeCPUs returns the processors of the nodes that the process may use.
func nodeCPUs(nodes []int) (cpus []int, err error) {
	nodes, err = knownNodes("numa_cpu_nodes", nodes, "online")
	if err != nil {
		return nil, err
	}
	allowed, err := allowedCPUs()
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		of, err := kernelList(filepath.Join(nodeDir, fmt.Sprintf("node%d", n), "cpulist"))
		if err != nil {
			return nil, &OptionError{"numa_cpu_nodes", fmt.Sprint(nodes), err.Error()}
		}
		cpus = append(cpus, slices.DeleteFunc(of, func(c int) bool { return !slices.Contains(allowed, c) })...)
	}
	if len(cpus) == 0 {
		return nil, &OptionError{"numa_cpu_nodes", fmt.Sprint(nodes), fmt.Sprintf("none of their processors may be used; those that may are %v", allowed)}
	}
	return cpus, nil
}

// takeMemory sets the memory policy of the calling thread as the job asks.
func takeMemory(j Job) error {
	if j.MemPolicy == "" {
		return nil
	}
	var mask []uint64 // None for MemLocal.
	if j.MemPolicy != MemLocal {
		nodes, err := knownNodes("numa_mem_policy", j.MemNodes, "has_memory")
		if err != nil {
			return err
		}
		mask = make([]uint64, maxCPUs/64)
		for _, n := range nodes {
			mask[n/64] |= 1 << (n % 64)
		}
	}
	// The conversion must be in the call itself: otherwise the garbage collector, or a stack that grows, would not know
	// of the pointer.
	if _, _, errno := unix.Syscall(unix.SYS_SET_MEMPOLICY, memPolicies[j.MemPolicy], uintptr(unsafe.Pointer(unsafe.SliceData(mask))), uintptr(64*len(mask))); errno != 0 {
		return &OptionError{"numa_mem_policy", j.MemPolicy, "the kernel refuses it: " + errno.Error()}
	}
	return nil
}

// anyMemory undoes takeMemory for the first thread of the process, which does not end.
func anyMemory(j Job) {
	if j.MemPolicy != "" {
		_, _, _ = unix.Syscall(unix.SYS_SET_MEMPOLICY, 0, 0, 0) // MPOL_DEFAULT always works.
	}
}
