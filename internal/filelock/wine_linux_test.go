package filelock

import (
	"strings"
	"testing"

	"plimsoll/internal/winetest"
)

// TestUnderWine runs the tests on Windows' side.
func TestUnderWine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := winetest.Find(t)
	out, err := w.Run(t, winetest.BuildTests(t, "."), "-test.v", "-test.run", "^(TestLocks|TestRemove|TestEndsWithTheProcess)$")
	if err != nil || strings.Count(out, "--- PASS") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}
