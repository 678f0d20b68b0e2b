package workload

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/load"
)

// Regions that follow one another in percent of a file begin at multiples of the block size, wherever the first one does.
func TestStepsInPercent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		offset               int64
		percent, step, steps int
		align, want          int64
	}{
		{0, 0, 25, 0, 0, 0}, {0, 0, 25, 1, 0, 28672}, {0, 0, 25, 3, 0, 77824}, {8192, 0, 20, 2, 0, 49152}, {0, 10, 16, 1, 0, 28672}, {0, 10, 16, 1, 1, 26000},
	} {
		j := StageJob{OffsetPercent: v.percent, StepPercent: v.step, Steps: v.steps, OffsetAlign: v.align, Job: load.Job{Filename: path, BS: 4096, Offset: v.offset}}
		if err := j.resolve(); err != nil || j.Job.Offset != v.want {
			t.Errorf("%+v: offset %d, %v", v, j.Job.Offset, err)
		}
	}
	j := StageJob{StepPercent: 50, Steps: 2, Job: load.Job{Filename: path, BS: 4096}}
	if err := j.resolve(); err == nil {
		t.Errorf("beyond the end: offset %d", j.Job.Offset)
	}
}
