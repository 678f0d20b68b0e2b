package workload

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/load"
)

// A stage that only makes files has a plausible result: it took some time, and its kinds of I/O did nothing.
func TestStageOfFilesOnly(t *testing.T) {
	dir := t.TempDir()
	j := StageJob{Name: "made", Size: 8192, FilesOnly: true, Job: load.Job{RW: load.Write, Filename: "f"}}
	res, err := stage(t, dir, j)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(dir, "f")); err != nil || st.Size() != 8192 {
		t.Errorf("%v, %v", st, err)
	}
	if res.Elapsed <= 0 {
		t.Errorf("it took %v", res.Elapsed)
	}
	if len(res.Classes) == 0 || res.Classes[0].Ops+res.Classes[1].Ops != 0 {
		t.Errorf("classes %+v, want some without I/Os", res.Classes)
	}
	if len(res.Stage) != 1 || len(res.Stage[0].Classes) != 0 {
		t.Errorf("jobs %+v, want one without classes", res.Stage)
	}
	other := null("does", 50*time.Millisecond)
	if s := (Spec{Kind: Stage, Jobs: []StageJob{j}}); !s.FilesOnly() {
		t.Error("it is not known for one that makes files")
	}
	if s := (Spec{Kind: Stage, Jobs: []StageJob{j, other}}); s.FilesOnly() {
		t.Error("another does I/O")
	}
	if res, err = stage(t, dir, j, other); err != nil || res.Stage[1].Ops() == 0 || len(res.Stage[0].Classes) != 0 {
		t.Errorf("beside another: %+v, %v", res, err)
	}
}
