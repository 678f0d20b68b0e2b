package load

import (
	"testing"

	"plimsoll/internal/testkit/winetest"
)

// TestUnderWine runs the tests of overlapped I/O, and some of every engine, on Windows' side.
func TestUnderWine(t *testing.T) {
	winetest.RunTests(t, "TestIOCP", "TestWindowsBindsThreads", "TestIOCPEnds",
		"TestReadsAndWritesAreOneSequence", "TestStartIncrementMovesTheStartOnly", "TestSamplesOfEachJob")
}
