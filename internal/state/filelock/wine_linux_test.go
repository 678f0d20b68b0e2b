package filelock

import (
	"testing"

	"plimsoll/internal/testkit/winetest"
)

// TestUnderWine runs the tests on Windows' side.
func TestUnderWine(t *testing.T) {
	winetest.RunTests(t, "TestLocks", "TestRemove", "TestEndsWithTheProcess", "TestWrite")
}
