package workload

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// otherWrites opens the file of another job, writes 4 KiB behind the first MiB, and returns it open.
func otherWrites(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt(bytes.Repeat([]byte("precious"), 512), 1<<20); err != nil {
		t.Fatal(err)
	}
	return f
}

// otherReads opens the file of another job only to read it.
func otherReads(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestLieOtherWriter: another program writes to Plimsoll's own file while a job runs on it, or has its time set back afterwards. It is not
// Plimsoll's from then on, but for programs that only read it.
func TestLieOtherWriter(t *testing.T) {
	job := func(engine string) StageJob {
		return StageJob{Name: "x", Size: 2 << 20, Job: load.Job{RW: load.RandWrite, Filename: "f", BS: 4096, Size: 1 << 20, IOEngine: engine, IODepth: 2, NumberIOs: 64}}
	}
	// run does the job, with something else before it runs and after it ended, and marks its file.
	run := func(t *testing.T, dir string, j StageJob, marks Marks, before, after func()) *Result {
		t.Helper()
		r, err := Prepare(context.Background(), Spec{Name: "s", Kind: Stage, Jobs: []StageJob{j}, Marks: marks}, Folders{Work: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			after()
		}()
		before()
		res, err := r.Run(context.Background(), func(load.Sample) {})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	nothing := func() {}
	for _, fs := range []string{"marked", "unmarked"} {
		for _, engine := range []string{load.PSync, load.IOUring, load.MMap} {
			for name, plant := range map[string]func(t *testing.T, path string) (before, after func()){
				"nobody": func(*testing.T, string) (before, after func()) { return nothing, nothing },
				"a reader during the job": func(t *testing.T, path string) (before, after func()) {
					return func() { otherReads(t, path).Close() }, nothing
				},
				"a reader during the job, and after it": func(t *testing.T, path string) (before, after func()) {
					return func() { otherReads(t, path) }, nothing
				},
				"a reader during the job, and a writer": func(t *testing.T, path string) (before, after func()) {
					var w *os.File
					return func() {
							r := otherReads(t, path)
							w = otherWrites(t, path)
							r.Close()
						}, func() {
							w.Close()
						}
				},
				"during the job": func(t *testing.T, path string) (before, after func()) {
					return func() { otherWrites(t, path).Close() }, nothing
				},
				"opened during the job, open after it": func(t *testing.T, path string) (before, after func()) {
					return func() { otherWrites(t, path) }, nothing
				},
				"after the job, with its time set back": func(t *testing.T, path string) (before, after func()) {
					return nothing, func() {
						time.Sleep(2 * markLead)
						was, err := os.Stat(path)
						if err != nil {
							t.Fatal(err)
						}
						otherWrites(t, path).Close()
						if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
							t.Fatal(err)
						}
					}
				},
			} {
				t.Run(fs+"/"+engine+"/"+name, func(t *testing.T) {
					dir := t.TempDir()
					if fs == "unmarked" {
						dir = disktest.Mount(t, "ramfs", "ramfs", 0, "")
					}
					path := filepath.Join(dir, "f")
					marks := run(t, dir, job(engine), nil, nothing, nothing).Marks
					before, after := plant(t, path)
					// It is the file of an earlier job by now, whose mark is renewed.
					res := run(t, dir, job(engine), marks, before, after)
					if res.Marks != nil {
						marks = res.Marks
					}
					held, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					again, err := Prepare(context.Background(), Spec{Name: "s", Kind: Stage, Jobs: []StageJob{job(engine)}, Marks: marks}, Folders{Work: dir})
					if err == nil {
						if err := again.Close(); err != nil {
							t.Error(err)
						}
					}
					// Without marks it shows too late that another program had the file open.
					if read := name == "a reader during the job" || name == "a reader during the job, and after it"; name == "nobody" || read && fs == "marked" {
						if err != nil || len(res.Notes) > 0 {
							t.Errorf("Prepare() = %v, notes %q, want none", err, res.Notes)
						}
						return
					}
					if !errors.Is(err, ErrOverwrite) {
						t.Errorf("Prepare() = %v, want ErrOverwrite; notes %q", err, res.Notes)
					}
					if now, err := os.ReadFile(path); err != nil || !bytes.Equal(held, now) {
						t.Errorf("the data was written over, %v", err)
					}
				})
			}
		}
	}
}

// TestLieOtherWriterOpen: another program has Plimsoll's own file open for writing since before the job, and has not written yet.
func TestLieOtherWriterOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if own, err := makeFile(t, path, 1<<20); !own || err != nil {
		t.Fatal(own, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refused(t, "open elsewhere", dir, path, StageJob{Name: "x", Job: load.Job{RW: load.Write, Filename: "f", BS: 4096, IOEngine: load.PSync}})
	// A reader's data is not at stake.
	f.Close()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if own, err := makeFile(t, path, 1<<20); !own || err != nil {
		t.Errorf("with a reader: %v, %v, want Plimsoll's own", own, err)
	}
}

// TestLieOtherWriterLayout: another program writes to a file while Plimsoll lays it out.
func TestLieOtherWriterLayout(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			if st, err := os.Stat(path); err == nil && st.Size() > 0 {
				if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
					f.Close()
					return
				}
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	own, err := makeFile(t, path, 64<<20)
	<-done
	if own || err != nil {
		t.Errorf("MakeFile() = %v, %v, want a file that is not its own", own, err)
	}
}
