package limit

// Weights and shares have a scale for each file that they are written to. What a user asks
// for is a proportion: twice the weight of a neighbour that has none. So each
// conversion keeps the proportion to that scale's own default for as long as the scale reaches,
// and says where it ends. (systemd's BFQ_WEIGHT in src/basic/cgroup-util.h keeps the ends instead, so that 200
// on io.weight becomes 109 on io.bfq.weight, where a neighbour has 100.)

// Bounds of the other scales.
const (
	// minBFQ, maxBFQ are of io.bfq.weight and blkio.bfq.weight; their default is 100, as io.weight's
	// (BFQ_MIN_WEIGHT and BFQ_MAX_WEIGHT in the kernel's block/bfq-iosched.h).
	minBFQ, maxBFQ = 1, 1000
	// minCFQ, maxCFQ and DefaultCFQWeight are of blkio.weight, which went with CFQ in Linux 5.0
	// (Documentation/cgroup-v1/blkio-controller.txt of 4.19).
	minCFQ, maxCFQ, DefaultCFQWeight = 10, 1000, 500
)

// BFQWeight converts a weight to the scale of io.bfq.weight and blkio.bfq.weight, which ends at 1000.
// exact is false where that cut it.
func BFQWeight(w int64) (v int64, exact bool) {
	v = min(max(w, minBFQ), maxBFQ)
	return v, v == w
}

// CFQWeight converts a weight to the scale of blkio.weight, 10 to 1000 with 500 as the default:
// proportions hold from 2 to 200. exact is false outside.
func CFQWeight(w int64) (v int64, exact bool) {
	x := w * DefaultCFQWeight / DefaultWeight
	v = min(max(x, minCFQ), maxCFQ)
	return v, v == x
}

// FromCFQWeight is the weight that a value of blkio.weight stands for.
func FromCFQWeight(v int64) int64 { return max(MinWeight, v*DefaultWeight/DefaultCFQWeight) }

// CPUWeight converts shares to cpu.weight as the kernel does between them: 1024 is 100, proportions hold, and it rounds
// (sched_weight_to_cgroup in kernel/sched/sched.h). systemd's own conversion cuts off, so that 1000 shares are 97 and not 98
// (cgroup_cpu_shares_to_weight in its src/core/cgroup.c): it is given the weight. exact is false above 102400 shares, where
// cpu.weight ends, and where rounding changes the proportion by more than a tenth.
//
// OCI runtimes have other formulas: until 2025 1+(shares-2)*9999/262142, which makes the default of 1024 a
// 39, and since then one of logarithms that meets 100 at 1024.
func CPUWeight(shares int64) (w int64, exact bool) {
	w = min(max((shares*DefaultWeight+DefaultCPUShares/2)/DefaultCPUShares, MinWeight), MaxWeight)
	back := CPUSharesOf(w)
	return w, back*10 >= shares*9 && back*10 <= shares*11
}

// CPUSharesOf is what a cpu.weight is in shares (sched_weight_from_cgroup).
func CPUSharesOf(weight int64) int64 {
	return (weight*DefaultCPUShares + DefaultWeight/2) / DefaultWeight
}
