package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLength: the length of the interval tells a normal spread, and one wild block hardly moves it.
func TestLength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{lengthBlocks, 20, 40, 100} {
		const draws = 2000
		var squares, fourths, wild, deviation float64
		for range draws {
			x := make([]float64, n)
			for i := range x {
				x[i] = 0.3 * r.NormFloat64()
			}
			clean := length(x) / 0.3
			squares += clean * clean / draws
			fourths += math.Pow(clean, 4) / draws
			x[0] = -5
			wild += length(x) / 0.3 / draws
			_, s := moments(x)
			deviation += s / 0.3 / draws
		}
		if scale := math.Sqrt(squares); scale < 0.99 || scale > 1.06 {
			t.Errorf("%d blocks: the spread is told as %.3f of what it is", n, scale)
		}
		freedom := 2 * squares * squares / (fourths - squares*squares)
		if share := freedom / float64(n-1); share < 0.9*lengthFreedom || share > 1 {
			t.Errorf("%d blocks: %.1f degrees of freedom, a share of %.2f", n, freedom, share)
		}
		if wild > 1.5 || deviation < 1.5*wild {
			t.Errorf("%d blocks: a wild one makes the spread %.2f times as large, the deviation %.2f times", n, wild, deviation)
		}
	}
}

// TestHalts: with a disk that stands still for half a second now and then, a run finds what is 15 % slower.
func TestHalts(t *testing.T) {
	mc, d := machineNamed(t, "halts"), designs[len(designs)-1]
	if s := mc.play(d, 9, 10, math.Log(0.85), 5); s.found < 0.5 {
		t.Errorf("15 %% slower was found in %.2f of the cells", s.found)
	}
}

// machineNamed returns the machine of that name.
func machineNamed(t *testing.T, name string) machine {
	t.Helper()
	for _, mc := range machines {
		if mc.name == name {
			return mc
		}
	}
	t.Fatalf("no machine %q", name)
	return machine{}
}
