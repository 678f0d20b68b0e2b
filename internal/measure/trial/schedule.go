package trial

import (
	"math/rand/v2"

	"plimsoll/internal/measure/record"
)

// order returns the order in which block b runs the cells, as indices: the workloads in a fresh random order, and in each its
// cells in a fresh random order. A cell and its baseline then lie within seconds of each other, and what wanders more slowly
// cancels in their ratio. The order depends on the seed and the block alone, so that a resumed run continues as it would have.
func order(seed uint64, block int, cells []record.Cell) []int {
	rng := rand.New(rand.NewPCG(seed, uint64(block)))
	var names []string
	of := map[string][]int{}
	for i, c := range cells {
		if of[c.Workload] == nil {
			names = append(names, c.Workload)
		}
		of[c.Workload] = append(of[c.Workload], i)
	}
	all := make([]int, 0, len(cells))
	for _, w := range rng.Perm(len(names)) {
		group := of[names[w]]
		for _, k := range rng.Perm(len(group)) {
			all = append(all, group[k])
		}
	}
	return all
}
