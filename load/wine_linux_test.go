package load

import (
	"strings"
	"testing"

	"plimsoll/internal/winetest"
)

// TestUnderWine runs the tests of overlapped I/O, and some of every engine, on Windows' side.
func TestUnderWine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := winetest.Find(t)
	exe := winetest.BuildTests(t, ".")
	out, err := w.Run(t, exe, "-test.v", "-test.run", "^(TestIOCP|TestWindowsBindsThreads|TestIOCPEnds|TestReadsAndWritesAreOneSequence|TestStartIncrementMovesTheStartOnly|TestSamplesOfEachJob)$")
	if err != nil || strings.Count(out, "--- PASS") != 6 {
		t.Errorf("%v\n%s", err, out)
	}
}
