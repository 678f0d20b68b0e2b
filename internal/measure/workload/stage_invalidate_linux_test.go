package workload

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/load"
)

// With Invalidate a job of buffered reads starts with none of its file in the page cache: what it reads
// comes from the disk.
func TestStageInvalidatesItsFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	job := StageJob{Name: "j", Size: 4 << 20, Job: load.Job{RW: load.Read, BS: 64 << 10, Filename: "f"}}
	read := func(invalidate bool) int64 {
		t.Helper()
		if _, err := os.Stat(path); err == nil {
			if _, err := os.ReadFile(path); err != nil { // Now it is in the cache.
				t.Fatal(err)
			}
		}
		job.Invalidate = invalidate
		res, err := stage(t, dir, job)
		if err != nil {
			t.Fatal(err)
		}
		return res.ProcRead
	}
	read(false) // It lays the file out.
	if n := read(false); n != 0 {
		t.Errorf("without: %d bytes came from the disk", n)
	}
	if n := read(true); n < 4<<20 {
		t.Errorf("with: only %d bytes came from the disk", n)
	}
	job.PreRead = true
	if n := read(true); n != 0 {
		t.Errorf("read before the start: %d bytes came from the disk all the same", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if n := read(true); n != 0 {
		t.Errorf("laid out and read before the start: %d bytes came from the disk all the same", n)
	}
}
