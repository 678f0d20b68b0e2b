package load

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestCenterIsFios: the most frequent block of zipf and pareto is where fio 3.33 has it.
func TestCenterIsFios(t *testing.T) {
	const n, total = 1000, 20000
	for _, dist := range []string{"zipf:1.2:0.1", "zipf:1.2:0.75", "pareto:0.2:0.5", "pareto:0.1:0"} {
		theirs, ours := fioVisits(t, dist, n, total), visits(t, dist, n, total)
		if a, b := slices.Index(theirs, slices.Max(theirs)), slices.Index(ours, slices.Max(ours)); a != b {
			t.Errorf("%s: block %d comes most often, with fio %d", dist, b, a)
		}
	}
}

// TestNormalIsFios: as many I/Os go to the most frequent blocks, and they lie all over the region, with a center too.
func TestNormalIsFios(t *testing.T) {
	const n, total = 4096, 100000
	for _, dist := range []string{"normal", "normal:10", "normal:60", "normal:10:0.25"} {
		theirs, ours := fioVisits(t, dist, n, total), visits(t, dist, n, total)
		for part := range 8 {
			at := part * n / 8
			a, b := share(theirs[at:][:n/8], total), share(ours[at:][:n/8], total)
			if math.Abs(a-0.125) > 0.03 || math.Abs(b-0.125) > 0.03 {
				t.Errorf("%s: eighth %d of the region has %.3f of the I/Os, with fio %.3f", dist, part, b, a)
			}
		}
		for _, s := range [][]float64{theirs, ours} {
			slices.Sort(s)
			slices.Reverse(s)
		}
		for _, head := range []int{n / 100, n / 10, n / 2} {
			// fio's hash puts some ranks at the same block.
			if a, b := share(theirs[:head], total), share(ours[:head], total); b < a*0.75 || b > a*1.05 {
				t.Errorf("%s: %.3f of the I/Os go to the %d most frequent blocks, with fio %.3f", dist, b, head, a)
			}
		}
	}
}

// share is how much of all I/Os these blocks have.
func share(seen []float64, total int) float64 {
	sum := 0.0
	for _, s := range seen {
		sum += s
	}
	return sum / float64(total)
}

// fioVisits counts how often fio visits each of n blocks.
func fioVisits(t *testing.T, dist string, n, total int) []float64 {
	t.Helper()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("needs fio")
	}
	log := filepath.Join(t.TempDir(), "log")
	out, err := exec.Command(fio, "--name=a", "--filename=x", "--ioengine=null", "--rw=randread", "--bs=4k", fmt.Sprintf("--size=%d", n*4096), "--random_distribution="+dist,
		fmt.Sprintf("--io_size=%d", total*4096), "--thread", "--write_iolog="+log).CombinedOutput()
	if err != nil {
		t.Fatalf("fio: %v: %s", err, out)
	}
	return logged(t, log, n)
}

// logged counts the blocks in a log of fio's I/Os. A line is "file action offset length"; from version 3 on a time comes first.
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
