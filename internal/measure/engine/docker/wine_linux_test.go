package docker

import (
	"testing"

	"plimsoll/internal/testkit/contracttest"
	"plimsoll/internal/testkit/winetest"
)

// TestUnderWine has a fake of a Windows daemon on a named pipe, on Windows' side, where its paths are this machine's.
func TestUnderWine(t *testing.T) {
	contracttest.Export(t)
	winetest.RunTests(t, "TestDockerWindowsRequest", "TestDockerWindowsRefuses", "TestDockerWindowsProbe", "TestDockerWindowsDescribes",
		"TestDockerWindowsCommand", "TestDockerWindowsBind", "TestOnDrive")
}
