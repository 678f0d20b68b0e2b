package orion

// Runs (-run).
const (
	Simple   = "simple"
	Normal   = "normal"
	Advanced = "advanced"
	OLTP     = "oltp"
	DSS      = "dss"
)

// Parts of the matrix (-matrix).
const (
	Basic    = "basic"
	Detailed = "detailed"
	Point    = "point"
	Col      = "col"
	Row      = "row"
	Max      = "max"
)

// A Load is a data point of the matrix: how many small I/Os and how many large ones, or
// streams, are outstanding.
type Load struct{ Small, Large int }

// A matrix is what a run measures.
type matrix struct {
	// small and large are the columns and the rows that the summary names.
	small, large []int
	// csvSmall and csvLarge are those of the tables.
	csvSmall, csvLarge []int
	// points are measured in this order. The point without any load is in none of
	// Orion's files and takes no time, but it is in its count.
	points []Load
	total  int
}

// Loads grow in these steps. For simple and normal they are known from published runs with 1, 2
// and 6 disks. For oltp they are inferred from runs with 1 disk (21 points), 3 (24 minutes) and 4 (loads of
// 4 and 68); no run of dss was found: its steps are assumed to be built alike.
const (
	smallPerDisk     = 5
	largePerDisk     = 2
	oltpPerDisk      = 20
	dssPerDisk       = 15
	maxPoints        = 100_000
	minutesPerRun    = 1 // beyond the points: 7d+1 points are announced as 7d+2 minutes
	secondsPerMinute = 60
)

// upTo are the numbers from first to last.
func upTo(first, last int) []int {
	var all []int
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// coarse are the loads of oltp and dss: one by one up to the number of disks, then in steps of it.
func coarse(disks, perDisk int) []int {
	all := upTo(1, disks)
	for k := 2; k <= perDisk; k++ {
		all = append(all, k*disks)
	}
	return all
}

// newMatrix lays out the data points of a run. Its size is bounded by maxPoints, which count reports
// without making them.
func newMatrix(t *Test) matrix {
	d := t.Disks
	small, large := upTo(0, smallPerDisk*d), upTo(0, largePerDisk*d)
	switch t.part() {
	case OLTP:
		all := coarse(d, oltpPerDisk)
		return matrix{small: all, large: []int{0}, csvSmall: all, csvLarge: []int{0}, points: cross(all, []int{0}), total: len(all) + 1}
	case DSS:
		all := coarse(d, dssPerDisk)
		return matrix{small: []int{0}, large: all, csvSmall: []int{0}, csvLarge: all, points: cross([]int{0}, all), total: len(all) + 1}
	case Basic:
		// As Orion's summary has it: it names the columns of the last of the two halves only.
		m := matrix{small: []int{0}, large: large, csvSmall: small, csvLarge: large}
		m.points = append(cross(small[1:], []int{0}), cross([]int{0}, large[1:])...)
		m.total = len(m.points) + 1
		return m
	case Point:
		small, large = []int{t.NumSmall}, []int{t.NumLarge}
	case Col:
		small = []int{t.NumSmall}
	case Row:
		large = []int{t.NumLarge}
	case Max:
		small, large = small[:min(t.NumSmall+1, len(small))], large[:min(t.NumLarge+1, len(large))]
	}
	m := matrix{small: small, large: large, csvSmall: small, csvLarge: large, points: cross(small, large)}
	m.total = len(small) * len(large)
	return m
}

// cross are all pairs but that of no load, row by row.
func cross(small, large []int) []Load {
	var all []Load
	for _, l := range large {
		for _, s := range small {
			if s+l > 0 {
				all = append(all, Load{s, l})
			}
		}
	}
	return all
}

// part is the part of the matrix that a run stands for.
func (t *Test) part() string {
	switch t.Workload {
	case Simple:
		return Basic
	case Normal:
		return Detailed
	case Advanced:
		return t.Matrix
	}
	return t.Workload
}

// minutes is the estimate that Orion prints.
func (t *Test) minutes() int {
	s := t.matrix.total * t.Seconds
	return (s+secondsPerMinute-1)/secondsPerMinute + minutesPerRun
}
