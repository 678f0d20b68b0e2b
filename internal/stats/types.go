package stats

type Matrix struct {
	Cells  []string
	Values [][]float64
}
type Pair struct {
	Cell, Baseline int
	Control        bool
}
