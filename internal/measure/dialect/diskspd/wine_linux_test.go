package diskspd

import (
	"strings"
	"testing"

	"plimsoll/internal/testkit/winetest"
)

// TestUnderWine runs the line of TestKnownComparison and the XML report on Windows' side: overlapped I/O without buffers on
// C:\\iotest.dat, and the processors' times.
func TestUnderWine(t *testing.T) {
	t.Parallel()
	out := winetest.RunTests(t, "TestKnownComparison", "TestXMLIsWhatProgramsRead", "TestStage")
	if !strings.Contains(out, "(windows-iocp)") {
		t.Errorf("the engine isn't windows-iocp:\n%s", out)
	}
}
