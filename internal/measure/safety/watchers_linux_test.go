package safety

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/step"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// TestConfirmWatchers lets real inotifywait confirm what the check says of file watchers: in a folder that the host shares with
// a virtual machine, by each share, and with a container. Each side watches while the other makes changes.
func TestConfirmWatchers(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("inotifywait confirms with PLIMSOLL_CAMPAIGN=1")
	}
	needProgram(t, "busybox")
	needProgram(t, "inotifywait")
	machine := func(share, cache string) func(*testing.T) engine.Engine {
		return func(t *testing.T) engine.Engine { return testMachine(t, share, cache) }
	}
	for _, row := range []struct {
		name   string
		engine func(*testing.T) engine.Engine
	}{
		{"container", func(t *testing.T) engine.Engine {
			if os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			return oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
		}},
		{"9p", machine(vm.Share9P, "")},
		{"virtiofs none", machine(vm.ShareVirtioFS, "none")},
		{"virtiofs auto", machine(vm.ShareVirtioFS, "auto")},
		{"virtiofs always", machine(vm.ShareVirtioFS, "always")},
		{"nfs", machine(vm.ShareNFS, "")},
		{"smb", machine(vm.ShareSMB, "")},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, spec := row.engine(t), place.Spec{Name: "it", Kind: place.Bind, Path: t.TempDir()}
			r, err := Check(t.Context(), Options{Engine: e, Host: host.New(t.TempDir(), workertest.Source(t)), Place: spec})
			if err != nil {
				t.Fatal(err)
			}
			inside, outside := eventsSides(t, r)
			t.Logf("the check: watched inside: %s; on the host: %s", inside, outside)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			a, _ := session(ctx, t, e, engine.Spec{Place: spec})
			dir := a.Info().HostPath
			makeFolders(t, dir)
			agree(t, "on the host", outside, hostWatches(t, filepath.Join(dir, "watched"), func() { actWith(ctx, t, a) }))
			got, own := insideWatches(ctx, t, a)
			agree(t, "inside", inside, got)
			among := r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Key == "events" && f.Between == Processes })]
			t.Logf("the check, among the processes inside: %s; inotifywait there sees a change: %v", among.Detail, own)
			if own != (among.Detail != noEvent) {
				t.Errorf("among the processes inside, the check says %q, and inotifywait there sees a change: %v", among.Detail, own)
			}
		})
	}
}

// makeFolders makes the folder that is watched, and one beside it.
func makeFolders(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"watched", "away"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// needProgram skips the test if a program is not installed.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is needed: scripts/setup test or scripts/setup guest installs it", name)
	}
}

// eventsSides is the check's answer between the sides, in the words of each: what a watcher inside sees, and one on the host.
func eventsSides(t *testing.T, r *Report) (inside, outside string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Key != "events" || f.Between != Sides && f.Between != Machines {
			continue
		}
		if f.Detail == noEvent {
			return f.Detail, f.Detail
		}
		inside, outside, _ = strings.Cut(f.Detail, "; on the host: ")
		_, inside, _ = strings.Cut(inside, ": ")
		return inside, outside
	}
	t.Fatalf("the check has no answer between the sides: %+v", r.Findings)
	return "", ""
}

// noEvent is the check's answer where a watcher sees nothing.
const noEvent = "no event arrives"

// What a watcher has seen of changes of each kind.
type seen struct{ made, got int }

func (s seen) String() string { return fmt.Sprintf("%d of %d events", s.got, s.made) }

// agree compares the check's words with what inotifywait has seen.
func agree(t *testing.T, where, said string, got seen) {
	t.Helper()
	t.Logf("inotifywait %s: %s", where, got)
	all, none := strings.HasPrefix(said, "all "), said == noEvent
	if got.made == 0 || all && got.got != got.made || none && got.got != 0 || !all && !none && got.got == 0 {
		t.Errorf("watched %s, the check says %q, and inotifywait sees %s", where, said, got)
	}
}

// watchArgs are the arguments of inotifywait. It prints a line for each event: its name and the file's.
func watchArgs(folder string) []string {
	return []string{"-m", "--format", "%e %f", "-e", "create,modify,moved_from,delete", folder}
}

// hostWatches counts what inotifywait on the host sees of 25 changes of each kind.
func hostWatches(t *testing.T, folder string, act func()) seen {
	t.Helper()
	cmd := exec.Command("inotifywait", watchArgs(folder)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	words, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for s := bufio.NewScanner(words); s.Scan() && !strings.Contains(s.Text(), "Watches established"); {
	}
	act()
	time.Sleep(2 * time.Second) // Late events.
	cmd.Process.Kill()
	io.Copy(io.Discard, words)
	cmd.Wait()
	got := seen{made: 4 * changes}
	for _, kind := range eventNames {
		got.got += min(changes, strings.Count(out.String(), kind+" f"))
	}
	return got
}

// changes is how often actWith makes each kind of change; eventNames are inotifywait's words for the kinds.
const changes = 25

var eventNames = []string{"CREATE", "MODIFY", "MOVED_FROM", "DELETE"}

// actWith lets a session make changes in the folder watched. Those that it moves away it moves back before it deletes them.
func actWith(ctx context.Context, t *testing.T, a *agent.Agent) {
	t.Helper()
	for _, how := range []struct{ how, path, to string }{
		{"create", "watched", ""}, {"modify", "watched", ""}, {"move", "watched", "away"}, {"move", "away", "watched"}, {"delete", "watched", ""},
	} {
		call := step.Call{Op: step.Act, How: how.how, Path: how.path, To: how.to, Data: []byte("x"), Count: changes, Wait: 5 * time.Millisecond}
		answers, err := a.Steps(ctx, agent.Step{Call: call})
		if err != nil || !answers[0].OK() {
			t.Fatalf("%s: %v, %+v", how.how, err, answers)
		}
	}
}

// insideWatches counts what inotifywait in a session sees of changes that the host makes meanwhile, and says whether it sees one
// that another process of the session makes. Of the host's changes those count that were made between the first and the last that
// were seen, or all if none was.
func insideWatches(ctx context.Context, t *testing.T, a *agent.Agent) (got seen, own bool) {
	t.Helper()
	dir, mounted := a.Info().HostPath, a.Hello.Dir
	busybox, watcher := copyProgram(t, dir, "busybox"), copyProgram(t, dir, "inotifywait")
	folder := filepath.Join(dir, "watched")
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		i := 0
		for ; ; i++ {
			select {
			case <-stop:
				stopped <- i
				return
			case <-time.After(50 * time.Millisecond):
			}
			path, away := filepath.Join(folder, step.Name(i)), filepath.Join(dir, "away", step.Name(i))
			os.WriteFile(path, nil, 0o666)
			os.WriteFile(path, []byte("x"), 0o666)
			os.Rename(path, away)
			os.Rename(away, path)
			os.Remove(path)
		}
	}()
	sh := func(name string, args ...string) string {
		return quoted(busybox.argv(mounted, append([]string{name}, args...)...))
	}
	// The watcher ends 15 seconds after its start; the change of its own side comes in between.
	script := "( " + sh("sleep", "7") + "; " + sh("touch", mounted+"/watched/own") + " ) & " + sh("timeout", append([]string{"15"}, watcher.argv(mounted, watchArgs(mounted+"/watched")...)...)...) + "; true"
	end, err := run(ctx, t, a, shell(busybox, mounted, script))
	close(stop)
	made := <-stopped
	if err != nil {
		t.Fatal(err, end.Stderr)
	}
	if !strings.Contains(end.Stderr, "Watches established") {
		t.Fatal("inotifywait inside did not watch: ", end.Stderr)
	}
	own = strings.Contains(end.Stdout, "CREATE own")
	first, last, has := made, -1, map[string]bool{}
	for line := range strings.Lines(end.Stdout) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		var i int
		if n, _ := fmt.Sscanf(name, "f%05d", &i); n != 1 {
			continue
		}
		first, last, has[kind+name] = min(first, i), max(last, i), true
	}
	if last < 0 {
		return seen{made: 4 * made}, own
	}
	for i := first + 1; i < last; i++ {
		for _, kind := range eventNames {
			if got.made++; has[kind+step.Name(i)] {
				got.got++
			}
		}
	}
	return got, own
}

// TestConfirmWatchersFUSE lets inotifywait confirm a folder that a program serves (bindfs). The check asks two processes that
// both use the served folder, and they see each other's changes. Changes made below, in the folder that is served, are
// outside of it: no event comes.
func TestConfirmWatchersFUSE(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("inotifywait confirms with PLIMSOLL_CAMPAIGN=1")
	}
	needProgram(t, "inotifywait")
	below := t.TempDir()
	at := disktest.BindFS(t, below, false)
	use := checked(t, at).use("file watchers (npm, webpack, vite)")
	e := host.New(t.TempDir(), workertest.Source(t))
	for _, row := range []struct {
		name, dir string
		want      int
	}{{"through the mount", at, 4 * changes}, {"below it", below, 0}} {
		a, end := session(t.Context(), t, e, engine.Spec{Place: place.Spec{Name: "it", Kind: place.Dir, Path: row.dir}})
		dir, err := filepath.Rel(row.dir, a.Info().HostPath)
		if err != nil {
			t.Fatal(err)
		}
		makeFolders(t, filepath.Join(at, dir))
		got := hostWatches(t, filepath.Join(at, dir, "watched"), func() { actWith(t.Context(), t, a) })
		end()
		t.Logf("the check: %s; changes %s: %s", use.Safe, row.name, got)
		if use.Safe != Yes || got.got != row.want {
			t.Errorf("the check says %s of a served folder; changes %s: %s, want %d", use.Safe, row.name, got, row.want)
		}
	}
}
