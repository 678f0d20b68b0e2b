package dockerapi

import (
	"testing"

	"plimsoll/internal/testkit/winetest"
)

// TestUnderWine asks a daemon over a named pipe, on Windows' side, and one that isn't there.
func TestUnderWine(t *testing.T) {
	winetest.RunTests(t, "TestPipe", "TestPipeMissing", "TestPipeFind", "TestWhy")
}
