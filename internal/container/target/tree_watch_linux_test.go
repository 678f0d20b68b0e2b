package target

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleep starts a process that is killed at the end, and returns its start time.
func sleep(t *testing.T) (pid int, ticks uint64, kill func()) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(kill)
	ticks, err := New(Options{}).start(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, ticks, kill
}

// note writes a container's state.json as runc does: it writes a new file and renames it.
func note(t *testing.T, root, id string, pid int, ticks uint64) {
	t.Helper()
	dir := filepath.Join(root, id)
	if err := os.MkdirAll(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"id": %q, "init_process_pid": %d, "init_process_start": %d, "config": {"labels": ["bundle=/nowhere"]}}`, id, pid, ticks)
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "state.json")); err != nil {
		t.Fatal(err)
	}
}

// waitWatched waits until an inotify instance of this process watches a folder.
func waitWatched(t *testing.T, dir string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	// proc_pid_fdinfo(5): one line for each watch, with the inode in hexadecimal.
	line := fmt.Sprintf(" ino:%x ", st.Ino)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		infos, err := filepath.Glob("/proc/self/fdinfo/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range infos {
			text, _ := os.ReadFile(name) // Its owner may close it meanwhile.
			if strings.Contains(string(text), "inotify wd:") && strings.Contains(string(text), line) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("nobody watches %s", dir)
		}
	}
}

// TestWatchFolders: a runtime's folder may appear with its first container, long after the watch began, and may be removed and
// made again. A container whose file is written twice is reported once.
func TestWatchFolders(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "run", "user", "runc")
	f := finder(t, Options{Runc: []string{root}})
	on := listen(t, f)
	waitWatched(t, top)
	pid, ticks, kill := sleep(t)
	note(t, root, "one", pid, ticks)
	on.next(Connected, "")
	if e := on.next(Started, "one"); e.Target.PID != pid || e.Target.StartTime != ticks {
		t.Errorf("event %+v, want process %d", e, pid)
	}
	note(t, root, "one", pid, ticks)
	if err := os.RemoveAll(filepath.Join(top, "run")); err != nil {
		t.Fatal(err)
	}
	kill()
	// Its end is reported although its folder was removed.
	on.next(Ended, "one")

	pid, ticks, _ = sleep(t)
	note(t, root, "two", pid, ticks)
	on.next(Connected, "")
	on.next(Started, "two")
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	pid, ticks, _ = sleep(t)
	note(t, root, "three", pid, ticks)
	on.next(Connected, "")
	on.next(Started, "three")
	// A container that ended before its file was written is not reported, nor is one whose file can't be read; the next one is.
	note(t, root, "dead", pid, ticks+1)
	if err := os.MkdirAll(filepath.Join(root, "bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bad", "state.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	pid, ticks, _ = sleep(t)
	note(t, root, "four", pid, ticks)
	on.next(Started, "four")
}

// TestWatchMany: if many containers start and end at once, each start and each end is reported.
func TestWatchMany(t *testing.T) {
	const n = 100
	root := t.TempDir()
	f := finder(t, Options{Runc: []string{root}})
	on := listen(t, f)
	on.next(Connected, "")
	kills := map[string]func(){}
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		pid, ticks, kill := sleep(t)
		kills[id] = kill
		note(t, root, id, pid, ticks)
	}
	started, ended := map[string]bool{}, map[string]bool{}
	timeout := time.After(time.Minute)
	for len(ended) < n {
		var e Event
		select {
		case e = <-on.events:
		case <-timeout:
			t.Fatalf("%d of %d are reported as started, and %d as ended", len(started), n, len(ended))
		}
		id := e.Target.ID
		switch {
		case e.Type == Started && !started[id]:
			started[id] = true
			kills[id]()
		case e.Type == Ended && started[id] && !ended[id]:
			ended[id] = true
		default:
			t.Fatalf("event %+v", e)
		}
	}
}

// TestWatchFromConnected: a container that starts as soon as the watch has said that it is connected is reported, whether the runtime's
// folder was there already or appears later.
func TestWatchFromConnected(t *testing.T) {
	pid, ticks, _ := sleep(t)
	for _, late := range []bool{false, true} {
		root := filepath.Join(t.TempDir(), "runc")
		mkdir := func() {
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Error(err)
			}
		}
		if !late {
			mkdir()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		started := false
		ended := goes(func() {
			finder(t, Options{}).runcTree(root).watch(ctx, func(e Event) {
				switch e.Type {
				case Connected:
					note(t, root, "one", pid, ticks)
				case Started:
					started = true
					cancel()
				}
			})
		})
		if late {
			waitWatched(t, filepath.Dir(root))
			mkdir()
		}
		<-ended
		if !started {
			t.Errorf("a folder that is made later %v: the start is not reported", late)
		}
	}
}

// goes runs f in a goroutine, and returns what is closed at its end.
func goes(f func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	return ended
}
