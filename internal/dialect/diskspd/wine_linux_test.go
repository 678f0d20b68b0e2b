package diskspd

import (
	"strings"
	"testing"

	"plimsoll/internal/winetest"
)

// TestUnderWine runs E4's line and the XML report on Windows' side: overlapped I/O without buffers on
// C:\\iotest.dat, and the processors' times.
func TestUnderWine(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	w := winetest.Find(t)
	exe := winetest.BuildTests(t, ".")
	out, err := w.Run(t, exe, "-test.v", "-test.run", "^(TestE4|TestXMLIsWhatProgramsRead|TestStage)$")
	if err != nil || strings.Count(out, "--- PASS") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "(windows-iocp)") {
		t.Errorf("the engine isn't windows-iocp:\n%s", out)
	}
}
