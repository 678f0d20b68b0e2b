package trial

import "math/rand/v2"

// order returns the order in which block b runs n cells: a fresh random one for every block. It depends on the seed and the
// block alone, so that a resumed run continues as it would have.
func order(seed uint64, block, n int) []int {
	rng := rand.New(rand.NewPCG(seed, uint64(block)))
	return rng.Perm(n)
}
