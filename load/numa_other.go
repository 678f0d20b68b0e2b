//go:build !linux

package load

import "fmt"

func nodeCPUs(nodes []int) ([]int, error) {
	return nil, &OptionError{"numa_cpu_nodes", fmt.Sprint(nodes), "only Linux binds threads to memory nodes here; use cpus_allowed"}
}

func takeMemory(j Job) error {
	if j.MemPolicy == "" {
		return nil
	}
	return &OptionError{"numa_mem_policy", j.MemPolicy, "only Linux takes memory from given nodes here; leave it out"}
}

func anyMemory(Job) {}
