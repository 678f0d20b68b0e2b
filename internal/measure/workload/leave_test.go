package workload

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"plimsoll/load"
)

// foreign makes a file of the user's in dir.
func foreign(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// refused runs the jobs, which have to be refused, and leave the file as it is.
func refused(t *testing.T, what, dir, path string, jobs ...StageJob) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var over *OverwriteError
	if _, err := stage(t, dir, jobs...); !errors.As(err, &over) || over.Path != path {
		t.Errorf("%s: %v, want the refusal to write over %s", what, err, path)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s: the file was changed, %v", what, err)
	}
}

// makeFile is MakeFile, and closes the file.
func makeFile(t *testing.T, path string, size int64, leave ...string) (own bool, err error) {
	t.Helper()
	f, own, err := MakeFile(context.Background(), path, size, leave)
	if err == nil {
		err = f.Close()
	}
	return own, err
}

func TestAllowed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range []struct {
		path  string
		leave []string
		want  bool
	}{
		{"f", nil, false},
		{"f", []string{""}, false},
		{"f", []string{"f"}, true},
		{"f", []string{"./f"}, true},
		{"f", []string{"g", filepath.Join(dir, "f")}, true},
		{filepath.Join(dir, "f"), []string{"d/../f"}, true},
		{filepath.Join(dir, "d") + "//f", []string{"d/f"}, true},
		{filepath.Join(dir, "d", "f"), []string{"f"}, false},
		{dir, []string{""}, false},
	} {
		if got := Allowed(c.path, c.leave); got != c.want {
			t.Errorf("Allowed(%q, %q) = %v, want %v", c.path, c.leave, got, c.want)
		}
	}
}

// TestLeaveIsForOneFile: leave for one file of a job is none for the others.
func TestLeaveIsForOneFile(t *testing.T) {
	dir := t.TempDir()
	foreign(t, dir, "a", bytes.Repeat([]byte("a"), 8192))
	b := foreign(t, dir, "b", bytes.Repeat([]byte("b"), 8192))
	j := StageJob{Name: "x", Destructive: []string{"a"}, Job: load.Job{RW: load.Write, Files: []string{"a", "b"}, BS: 4096}}
	refused(t, "leave for a", dir, b, j)
	j.Destructive = []string{"./a", b}
	if _, err := stage(t, dir, j); err != nil {
		t.Errorf("leave for both: %v", err)
	}
}

// TestLeaveIsForOneRun: what was written by leave is the user's still, whether the run wrote all of it, some or
// nothing.
func TestLeaveIsForOneRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs extended attributes")
	}
	dir := t.TempDir()
	path := foreign(t, dir, "m", bytes.Repeat([]byte("precious"), 1<<14))
	w := StageJob{Name: "x", Job: load.Job{RW: load.Write, Files: []string{"m"}, BS: 4096, NumberIOs: 1, Data: load.DataZero}}
	leave := w
	leave.Destructive = []string{path}
	// The second file is none, so that the stage ends before it writes.
	broken := leave
	broken.Job.Files = []string{"m", "."}
	if _, err := stage(t, dir, broken); err == nil {
		t.Fatal("a folder was written to")
	}
	refused(t, "after a run that wrote nothing", dir, path, w)
	// Neither does one that is prepared, and not run.
	r, err := Prepare(context.Background(), Spec{Kind: Stage, Jobs: []StageJob{leave}}, Folders{Work: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	refused(t, "after a run that was only prepared", dir, path, w)
	if _, err := stage(t, dir, leave); err != nil {
		t.Fatal(err)
	}
	if p, err := os.ReadFile(path); err != nil || p[0] != 0 {
		t.Fatalf("the file begins with %q, %v", p[:8], err)
	}
	refused(t, "after a run that wrote one block", dir, path, w)
	whole := leave
	whole.Job.NumberIOs, whole.Job.Data = 0, ""
	if _, err := stage(t, dir, whole); err != nil {
		t.Fatal(err)
	}
	refused(t, "after a run that wrote all of it", dir, path, w)
	if own, err := makeFile(t, path, 8192, path); own || err != nil {
		t.Errorf("MakeFile() = %v, %v, of a file that is the user's", own, err)
	}
	// Plimsoll may write its own file again; once the user edits the file, it is the user's.
	made := filepath.Join(dir, "made")
	for range 2 {
		if own, err := makeFile(t, made, 8192); !own || err != nil {
			t.Errorf("MakeFile() = %v, %v, of a file of its own", own, err)
		}
	}
	foreign(t, dir, "made", []byte("an edit"))
	if own, err := makeFile(t, made, 4); own || err == nil {
		t.Errorf("MakeFile() = %v, %v, of a file that the user edited", own, err)
	}
}

// TestSmallFilesAreKnownByTheirMark: a short file that begins with zeros looks as a laid-out one does, and is
// none.
func TestSmallFilesAreKnownByTheirMark(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{8, 4096, 6000, 8191, 64<<10 - 1, 64 << 10, 80 << 10} {
		data := append(make([]byte, 8), bytes.Repeat([]byte("p"), size-8)...)
		path := foreign(t, dir, "small", data)
		refused(t, "write", dir, path, StageJob{Name: "x", Job: load.Job{RW: load.Write, Filename: "small", BS: 4, NumberIOs: 1}})
		refused(t, "truncate", dir, path, StageJob{Name: "x", Truncate: true, Job: load.Job{RW: load.Write, Filename: "small", BS: 512, Size: 512}})
	}
}
