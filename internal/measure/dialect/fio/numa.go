package fio

import (
	"fmt"
	"strings"

	"plimsoll/load"
)

// parseNodes reads a list of memory nodes, 0-1,3, or all.
func parseNodes(s string) ([]int, error) {
	if s == "all" {
		return []int{load.AllNodes}, nil
	}
	nodes, err := parseCPUs(s)
	if err != nil || strings.ContainsAny(s, ": ") {
		return nil, fmt.Errorf("%q is not a list of memory nodes; write it as 0-1,3, or all", s)
	}
	return nodes, nil
}

func setCPUNodes(j *job, v string) error {
	nodes, err := parseNodes(v)
	if err == nil {
		j.cpuNodes = nodes
	}
	return err
}

func setMemPolicy(j *job, v string) error {
	mode, list, has := strings.Cut(v, ":")
	mode, err := oneOf(mode, "default", load.MemPrefer, load.MemBind, load.MemInterleave, load.MemLocal)
	if err != nil {
		return err
	}
	var nodes []int
	switch takes := mode == load.MemPrefer || mode == load.MemBind || mode == load.MemInterleave; {
	case has && !takes:
		return fmt.Errorf("%q: %s takes no nodes", v, mode)
	case !has && mode == load.MemInterleave:
		nodes = []int{load.AllNodes}
	case takes:
		if nodes, err = parseNodes(list); err != nil {
			return err
		}
		if mode == load.MemPrefer && (len(nodes) != 1 || nodes[0] < 0) {
			return fmt.Errorf("%q: prefer takes one node", v)
		}
	}
	if mode == "default" {
		mode = ""
	}
	j.memPolicy, j.memNodes = mode, nodes
	return nil
}
