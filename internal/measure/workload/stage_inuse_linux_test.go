package workload

import (
	"strings"
	"testing"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// TestStageSparesWhatIsInUse: leave to destroy is no leave to write under a file system.
func TestStageSparesWhatIsInUse(t *testing.T) {
	image := disktest.Image(t, 16<<20)
	loop := disktest.Loop(t, image, false)
	disktest.Format(t, loop, "ext4")
	disktest.Mount(t, loop, "ext4", 0, "")
	for _, path := range []string{loop, image} {
		_, err := stage(t, t.TempDir(), StageJob{Name: "w", Destructive: []string{path}, Job: load.Job{RW: load.Write, Filename: path, NumberIOs: 1}})
		if err == nil || !strings.Contains(err.Error(), "never written over") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
