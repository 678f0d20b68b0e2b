package load

import (
	"bufio"
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestCenterIsFios: the most frequent block of zipf and pareto is where fio 3.33 has it. That version scatters what it draws from normal by a
// hash, too, so that nothing is in its middle; here it is as fio's manual says.
func TestCenterIsFios(t *testing.T) {
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("needs fio")
	}
	const n, total = 1000, 20000
	for _, dist := range []string{"zipf:1.2:0.1", "zipf:1.2:0.75", "pareto:0.2:0.5", "pareto:0.1:0"} {
		log := filepath.Join(t.TempDir(), "log")
		out, err := exec.Command(fio, "--name=a", "--filename=x", "--ioengine=null", "--rw=randread", "--bs=4k", fmt.Sprintf("--size=%d", n*4096), "--random_distribution="+dist,
			fmt.Sprintf("--io_size=%d", total*4096), "--thread", "--write_iolog="+log).CombinedOutput()
		if err != nil {
			t.Fatalf("fio: %v: %s", err, out)
		}
		theirs := logged(t, log, n)
		ours := visits(t, dist, n, total)
		if a, b := slices.Index(theirs, slices.Max(theirs)), slices.Index(ours, slices.Max(ours)); a != b {
			t.Errorf("%s: block %d comes most often, with fio %d", dist, b, a)
		}
	}
}

func TestNormalHasItsCenter(t *testing.T) {
	for dist, want := range map[string]float64{"normal:10:0.25": 0.25, "normal:10": 0.5, "normal:20:0": 0, "normal:20:1": 0} {
		got := around(visits(t, dist, 1000, 20000))
		if d := math.Abs(got - want); min(d, 1-d) > 0.01 {
			t.Errorf("%s: the middle is at %.3f, want %.3f", dist, got, want)
		}
	}
}

// logged counts the blocks of a log of fio's I/Os, whose lines are "file action offset length", from version 3 on with a time before.
func logged(t *testing.T, path string, n int) []float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen, lines := make([]float64, n), 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var at, off, size int64
		var name string
		if _, err := fmt.Sscanf(s.Text(), "%d %s read %d %d", &at, &name, &off, &size); err != nil {
			if _, err = fmt.Sscanf(s.Text(), "%s read %d %d", &name, &off, &size); err != nil {
				continue
			}
		}
		seen[off/4096]++
		lines++
	}
	if lines == 0 {
		t.Fatal("fio's log has no reads")
	}
	return seen
}

// around is the mean place on a circle, as a share of it.
func around(seen []float64) float64 {
	sum := complex(0, 0)
	for i, s := range seen {
		sum += cmplx.Rect(s, 2*math.Pi*(float64(i)+0.5)/float64(len(seen)))
	}
	return math.Mod(cmplx.Phase(sum)/(2*math.Pi)+1, 1)
}
