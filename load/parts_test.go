package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesOfDifferentLength: each file has its turns until all of its region was done, whatever the order of the files; offsets that may repeat
// are as many in each. A region without room for a block has no turn.
func TestFilesOfDifferentLength(t *testing.T) {
	t.Parallel()
	none := 100
	for name, c := range map[string]struct {
		job  Job
		want []int64
	}{
		"sequential":        {Job{RW: Read}, []int64{4, 16, 0, 1}},
		"random":            {Job{RW: RandRead}, []int64{4, 16, 0, 1}},
		"one by one":        {Job{RW: Read, FileService: Sequential}, []int64{4, 16, 0, 1}},
		"files at random":   {Job{RW: RandRead, FileService: Random}, []int64{4, 16, 0, 1}},
		"three times":       {Job{RW: RandRead, Loops: 3}, []int64{12, 48, 0, 3}},
		"two passes":        {Job{RW: Read, IOSize: 42 * 4096}, []int64{8, 32, 0, 2}},
		"the first":         {Job{RW: Read, NumberIOs: 9}, []int64{4, 4, 0, 1}},
		"repeated":          {Job{RW: RandRead, NoRandomMap: true}, []int64{7, 7, 0, 7}},
		"follow each other": {Job{RW: RandRead, PercentageRandom: &none, IOSize: 21 * 4096}, []int64{4, 16, 0, 1}},
		"threads":           {Job{RW: RandRead, IODepth: 4}, []int64{4, 16, 0, 1}},
	} {
		j := c.job
		j.IOEngine, j.Files, j.Sizes, j.Size = Null, []string{"a", "b", "c", "d"}, []int64{4 * 4096, 16 * 4096, 4095, 4096}, 16*4096
		j.PerJob, j.PerFile = true, true
		var got []int64
		for _, f := range start(t, j).Jobs[0].Files {
			got = append(got, f.Classes[0].Ops)
		}
		if name == "the first" {
			slices.Sort(got[:2]) // Which file's turn the last is, is no matter.
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v I/Os in the files, want %v", name, got, c.want)
		}
	}
}

// Each block of each file is written once in a pass.
func TestPassOverFilesOfDifferentLength(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{PSync, LinuxAIO} {
		dir := t.TempDir()
		j := Job{RW: RandWrite, IODepth: 4, IOEngine: engine, Size: 64 * 4096}
		for i, blocks := range []int64{3, 64, 17} {
			path := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(path, make([]byte, blocks*4096), 0o600); err != nil {
				t.Fatal(err)
			}
			j.Files, j.Sizes = append(j.Files, path), append(j.Sizes, blocks*4096)
		}
		start(t, j)
		for i, path := range j.Files {
			for k, off := range stamps(t, path, 4096) {
				if off != int64(k)*4096 || k == 0 && !written4KiB(t, path) {
					t.Errorf("%s: block %d of file %d has the stamp of %d", engine, k, i, off)
				}
			}
		}
	}
	for name, bad := range map[string]Job{
		"too few":     {RW: Read, Files: []string{"a", "b"}, Sizes: []int64{4096}, Size: 4096},
		"not longest": {RW: Read, Files: []string{"a", "b"}, Sizes: []int64{4096, 8192}, Size: 4096},
		"clones":      {RW: Read, Files: []string{"a", "b"}, Sizes: []int64{4096, 8192}, Size: 8192, NumJobs: 2},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// written4KiB reports whether the first block is not the zeros that it was.
func written4KiB(t *testing.T, path string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(data[:4096], func(b byte) bool { return b != 0 })
}
