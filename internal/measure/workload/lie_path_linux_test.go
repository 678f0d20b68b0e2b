package workload

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/load"
)

// victim makes a file of Plimsoll's, and beside it another program's file and a link to that.
func victim(t *testing.T) (dir, mine, theirs, link string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	mine, link = filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if own, err := makeFile(t, mine, 64<<10); !own || err != nil {
		t.Fatal(own, err)
	}
	data = bytes.Repeat([]byte("precious"), 8<<10)
	theirs = foreign(t, dir, "theirs", data)
	if err := os.Symlink(theirs, link); err != nil {
		t.Fatal(err)
	}
	return dir, mine, theirs, link, data
}

// untouched is an error unless the other program's file is as it was, without a mark.
func untouched(t *testing.T, path string, data []byte) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%s was written over, %v", path, err)
	}
	if n, err := unix.Getxattr(path, markName, make([]byte, 64)); err == nil {
		t.Fatalf("%s is marked as Plimsoll's, %d bytes", path, n)
	}
}

var swapJobs = map[string]StageJob{
	"overwrite": {Name: "x", Job: load.Job{RW: load.Write, Filename: "f", BS: 4096, IOEngine: load.PSync, NumberIOs: 4}},
	"truncate":  {Name: "x", Truncate: true, Remove: true, Job: load.Job{RW: load.Write, Filename: "f", BS: 4096, Size: 16384, IOEngine: load.PSync}},
}

// TestLiePathSwapped: a link to another program's file takes the path of Plimsoll's own, at each of the moments in which the path was looked at and
// was not yet used. What is written, cut, marked and removed is the file that was looked at.
func TestLiePathSwapped(t *testing.T) {
	for name, job := range swapJobs {
		t.Run(name+" before it is opened", func(t *testing.T) {
			dir, mine, theirs, link, data := victim(t)
			s := &stageRun{jobs: []StageJob{job}, claims: map[string]*claim{}}
			j := &s.jobs[0]
			if err := s.files(context.Background(), j, dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(link, mine); err != nil {
				t.Fatal(err)
			}
			var replaced *load.ReplacedError
			if r, err := load.PrepareFiles(j.Job, s.openFiles(j)); !errors.As(err, &replaced) || replaced.Path != mine {
				t.Errorf("PrepareFiles() = %v, %v, want a ReplacedError", r, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			untouched(t, theirs, data)
			if _, err := os.Lstat(mine); err != nil {
				t.Errorf("what was not the stage's own was removed: %v", err)
			}
		})
		t.Run(name+" before it is marked", func(t *testing.T) {
			dir, mine, theirs, link, data := victim(t)
			r, err := Prepare(context.Background(), Spec{Kind: Stage, Jobs: []StageJob{job}}, Folders{Work: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(link, mine); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Run(context.Background(), func(load.Sample) {}); err != nil {
				t.Error(err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			untouched(t, theirs, data)
			if _, err := os.Lstat(mine); err != nil {
				t.Errorf("what was not the stage's own was removed: %v", err)
			}
		})
		t.Run(name+" at any moment", func(t *testing.T) {
			_, mine, theirs, link, data := victim(t)
			dir := filepath.Dir(mine)
			stop, swapping := make(chan struct{}), sync.WaitGroup{}
			swapping.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = unix.Renameat2(unix.AT_FDCWD, mine, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
					}
				}
			})
			ran := 0
			for range 300 {
				if _, err := stage(t, dir, job); err == nil {
					ran++
				}
			}
			close(stop)
			swapping.Wait()
			t.Logf("%d of 300 runs found Plimsoll's own file", ran)
			untouched(t, theirs, data)
		})
	}
}
