package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain lets the test binary be the process that a test kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("PLIMSOLL_TEST_WRITER"); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	if path := os.Getenv("PLIMSOLL_TEST_HOLDER"); path != "" {
		if err := holdLock(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeForever owns run r and puts trials, and says the number of each once PutTrial
// has acknowledged it.
func writeForever(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := s.Own("r"); err != nil {
		return err
	}
	if err := s.PutRun(sampleRun("r")); err != nil {
		return err
	}
	runtime.GC() // An owner that drops the release function stays the owner.
	for i := 0; ; i++ {
		if err := s.PutTrial(sampleTrial("r", i, 12)); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// TestKilledWriter kills a writer in the middle of its writing, at several points.
func TestKilledWriter(t *testing.T) {
	for _, after := range []int{1, 20, 150} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			path := openTemp(t).path // Held open, so that no log is merged on closing.
			acknowledged := killWriter(t, path, after)

			s := openAt(t, path)
			got, err := s.Trials("r", TrialsOptions{Histograms: true})
			must(t, err)
			if len(got) < acknowledged {
				t.Fatalf("%d trials were acknowledged and %d are there", acknowledged, len(got))
			}
			for i, tr := range got {
				if tr.Order != i || tr.Value != sampleTrial("r", i, 12).Value {
					t.Errorf("trial %d is not what was put", i)
				}
			}
			var check string
			must(t, s.db.QueryRow("PRAGMA integrity_check").Scan(&check))
			if check != "ok" {
				t.Errorf("the database is damaged: %s", check)
			}
			// The lock ended with its process, and the run can be taken over.
			all, err := s.Runs(Filter{})
			must(t, err)
			if len(all) != 1 || all[0].Alive || !all[0].Broken() {
				t.Errorf("after the kill the run is alive: %+v", all)
			}
			release, err := s.Own("r")
			must(t, err)
			must(t, s.PutTrial(sampleTrial("r", len(got), 12)))
			must(t, release())
		})
	}
}

// killWriter starts a writer, kills it some time after it acknowledged that many trials, and
// returns how many it has acknowledged in all.
func killWriter(t *testing.T, path string, after int) int {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_WRITER="+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	n := 0
	lines := bufio.NewScanner(out)
	for n < after && lines.Scan() {
		n++
	}
	if n < after {
		t.Fatalf("the writer ended after %d trials: %s", n, stderr.String())
	}
	s := openAt(t, path)
	if alive, err := s.Alive("r"); !alive || err != nil {
		t.Errorf("Alive of a run that is being written = %v, %v", alive, err)
	}
	if _, err := s.Own("r"); !errors.Is(err, ErrAlive) || !strings.Contains(err.Error(), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("Own of a run that is being written = %v, want ErrAlive and process %d", err, cmd.Process.Pid)
	}
	if err := s.Delete("r"); !errors.Is(err, ErrAlive) {
		t.Errorf("Delete of a run that is being written = %v, want ErrAlive", err)
	}
	must(t, cmd.Process.Kill())
	rest, err := io.ReadAll(readerOf(lines))
	must(t, err)
	return n + bytes.Count(rest, []byte("\n"))
}

// readerOf returns the lines that are left, also the last one if it is whole.
func readerOf(lines *bufio.Scanner) io.Reader {
	var b bytes.Buffer
	for lines.Scan() {
		fmt.Fprintln(&b, lines.Text())
	}
	return &b
}

func TestOwn(t *testing.T) {
	s := openTemp(t)
	for _, id := range []string{"", "..", "../x", "a/b"} {
		if _, err := s.Own(id); err == nil {
			t.Errorf("Own(%q) succeeded", id)
		}
		if _, err := s.Alive(id); err == nil {
			t.Errorf("Alive(%q) succeeded", id)
		}
	}
	if alive, err := s.Alive("r"); alive || err != nil {
		t.Errorf("Alive of nothing = %v, %v", alive, err)
	}
	release, err := s.Own("r")
	must(t, err)
	if alive, err := s.Alive("r"); !alive || err != nil {
		t.Errorf("Alive of an own run = %v, %v", alive, err)
	}
	must(t, release())
	if alive, err := s.Alive("r"); alive || err != nil {
		t.Errorf("Alive of a released run = %v, %v", alive, err)
	}
	if _, err := os.Stat(s.lockPath("r")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock's file is still there: %v", err)
	}
}

// TestOwnersExclude has many goroutines own one run in turns, while others look.
func TestOwnersExclude(t *testing.T) {
	s := openTemp(t)
	var inside, owned atomic.Int32
	var owners, lookers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		lookers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := s.Alive("r"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 8 {
		owners.Go(func() {
			for range 30 {
				release, err := s.Own("r")
				if errors.Is(err, ErrAlive) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("the run has two owners")
				}
				owned.Add(1)
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	owners.Wait()
	close(stop)
	lookers.Wait()
	if owned.Load() == 0 {
		t.Error("nobody ever owned the run")
	}
}

func TestDelete(t *testing.T) {
	s := openTemp(t)
	for _, id := range []string{"keep", "big"} {
		must(t, s.PutRun(sampleRun(id)))
		must(t, s.PutTrial(sampleTrial(id, 0, 1)))
	}
	for i := range 600 {
		must(t, s.PutTrial(sampleTrial("big", i+1, 1)))
	}
	must(t, s.shrink())
	before := fileSize(t, s.path)

	release, err := s.Own("keep")
	must(t, err)
	if err := s.Delete("big", "keep"); !errors.Is(err, ErrAlive) {
		t.Errorf("Delete of a run that is alive = %v, want ErrAlive", err)
	}
	must(t, release())
	var unknown *RefError
	if err := s.Delete("big", "nothing"); !errors.As(err, &unknown) {
		t.Errorf("Delete of an unknown run = %v", err)
	}
	if all, err := s.Runs(Filter{}); err != nil || len(all) != 2 || all[0].Trials+all[1].Trials != 602 {
		t.Errorf("a refused Delete removed something: %v, %v", all, err)
	}

	must(t, s.Delete("big"))
	must(t, s.Delete())
	if after := fileSize(t, s.path); after > before/10 {
		t.Errorf("the database has %d bytes after the removal, and had %d before", after, before)
	}
	if got, err := s.Trials("big", TrialsOptions{}); err != nil || len(got) != 0 {
		t.Errorf("%d trials of the removed run are left, %v", len(got), err)
	}
	if got, err := s.Trials("keep", TrialsOptions{}); err != nil || len(got) != 1 {
		t.Errorf("%d trials of the other run are left, %v", len(got), err)
	}
	// A run whose record can't be read can be removed, too.
	_, err = s.db.Exec("UPDATE runs SET record = '{'")
	must(t, err)
	must(t, s.Delete("keep"))
	if entries, err := os.ReadDir(s.lockPath("")[:len(s.lockPath(""))-len(".lock")]); err != nil || len(entries) != 0 {
		t.Errorf("files of locks are left: %v, %v", entries, err)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	must(t, err)
	return fi.Size()
}
