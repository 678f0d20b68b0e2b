package fio

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/load"
)

// Memory nodes are read as fio reads them.
func TestMemoryNodes(t *testing.T) {
	for value, want := range map[string]struct {
		policy string
		nodes  []int
	}{
		"default": {}, "local": {policy: load.MemLocal}, "prefer:1": {load.MemPrefer, []int{1}}, "bind:0-1,3": {load.MemBind, []int{0, 1, 3}},
		"interleave": {load.MemInterleave, []int{load.AllNodes}}, "interleave:all": {load.MemInterleave, []int{load.AllNodes}},
	} {
		test, err := Parse([]string{"--name=a", "--size=4k", "--numa_cpu_nodes=0,2", "--numa_mem_policy=" + value}, Source{})
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if l := test.stages[0][0].load; l.MemPolicy != want.policy || !slices.Equal(l.MemNodes, want.nodes) || !slices.Equal(l.CPUNodes, []int{0, 2}) {
			t.Errorf("%s: %q of %v on %v", value, l.MemPolicy, l.MemNodes, l.CPUNodes)
		}
	}
	for value, want := range map[string]string{
		"numa_mem_policy=prefer": "is not a list", "numa_mem_policy=prefer:0-1": "one node", "numa_mem_policy=local:0": "takes no nodes", "numa_mem_policy=bind": "is not a list",
		"numa_mem_policy=some:0": "is not one of", "numa_cpu_nodes=x": "is not a list", "cpus_allowed=0": "contradicts",
	} {
		args := []string{"--name=a", "--size=4k", "--numa_cpu_nodes=0", "--" + value}
		if _, err := Parse(args, Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
