package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/website"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
)

// small is a site that is made in no time.
var small = &website.Spec{Posts: 2, Files: 20, Bytes: 60_000}

// prepare prepares a command that has to be prepared, and closes it at the test's end.
func prepare(t *testing.T, c workload.CommandSpec, reads string, f workload.Folders) workload.Runner {
	t.Helper()
	r, err := Prepare(t.Context(), workload.Spec{Kind: workload.Command, Command: &c, Reads: reads}, f)
	if err != nil {
		t.Fatalf("Prepare(%+v) = %v", c, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// shell is a command of sh.
func shell(script string, args ...string) workload.CommandSpec {
	return workload.CommandSpec{Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// TestRun: it runs in its folder and environment, its time is the figure, and what it said, read and wrote is kept.
func TestRun(t *testing.T) {
	f := workload.Folders{Work: t.TempDir(), Source: t.TempDir()}
	c := shell(`pwd; echo "$1 $A $HOME"; env | wc -l; cp -r "$2" here; sleep 0.05; echo warned >&2`, "{source}", "{source}")
	c.Env, c.Site = map[string]string{"A": "in {destination}", "B": "2"}, small
	r := prepare(t, c, workload.Warm, f)
	res, err := r.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	src, out := filepath.Join(f.Source, "command", small.String()), filepath.Join(f.Work, "command", "out")
	e := res.Command
	// sh adds PWD, OLDPWD or _, as it likes.
	lines := strings.Split(e.Stdout, "\n")
	if len(lines) != 3 || lines[0] != out || lines[1] != src+" in "+out+" "+out {
		t.Errorf("stdout %q, want the destination, and the folders in the words", e.Stdout)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(lines[len(lines)-1])); err != nil || n > 8 {
		t.Errorf("it has %d variables, %v; want few of its own", n, err)
	}
	want := *e
	want.Exit, want.Stderr, want.StderrBytes, want.Files, want.Bytes = 0, "warned", 7, 20, 60_000
	if *e != want {
		t.Errorf("end %+v, want %+v", *e, want)
	}
	m := workload.Spec{Kind: workload.Command}.Metric()
	if v := res.Value(m); v < 0.05 || v != res.Elapsed.Seconds() {
		t.Errorf("value %v after %v", v, res.Elapsed)
	}
	if !m.LowerIsBetter() || m.Rate(0.5) != 2 {
		t.Errorf("%+v: lower is better %v, a rate of %v for half a second, want 2", m, m.LowerIsBetter(), m.Rate(0.5))
	}
	if read, written := res.Bytes(); read < 60_000 || written < 60_000 || res.Ops() != 1 {
		t.Errorf("%d bytes read, %d written, %d operations; want those of cp", read, written, res.Ops())
	}
	if s := res.Source; s.Files != 20 || s.Bytes != 60_000 || s.Resident != 1 {
		t.Errorf("sources %+v, want all of them cached", s)
	}
	if res.Prepared <= 0 || res.Usage.User+res.Usage.System <= 0 {
		t.Errorf("made in %v, CPU %+v", res.Prepared, res.Usage)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the destination is still there: %v", err)
	}
	// The sources are there for the next trial, and a destination is empty again.
	c.Argv = []string{"sh", "-c", "ls -A"}
	if res, err = prepare(t, c, "", f).Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if res.Prepared != 0 || res.Source != nil {
		t.Errorf("second trial: prepared in %v, source %+v, want that nothing is prepared", res.Prepared, res.Source)
	}
	if res.Command.Stdout != "" {
		t.Errorf("second trial: the destination has %s", res.Command.Stdout)
	}
}

// TestCold: sources are dropped from the page cache.
func TestCold(t *testing.T) {
	f := workload.Folders{Work: t.TempDir()}
	c := shell(`cat "$1"/robots.txt`, "{source}")
	c.Site = small
	if res, err := prepare(t, c, workload.Warm, f).Run(t.Context(), nil); err != nil || res.Source.Resident != 1 {
		t.Fatalf("warm: %+v, %v", res, err)
	}
	res, err := prepare(t, c, workload.Cold, f).Run(t.Context(), nil)
	if err != nil || res.Source.Resident > 0.1 {
		t.Errorf("cold: %v of the sources are cached, %v", res.Source.Resident, err)
	}
}

// TestFails: a command that ends badly keeps its status, its last words and how far it got.
func TestFails(t *testing.T) {
	for _, row := range []struct {
		name string
		c    workload.CommandSpec
		want string
		end  workload.CommandEnd
	}{
		{"status", shell("echo begun; echo 12345 > half; echo first >&2; echo oh no >&2; exit 3"), "sh ended with exit status 3: oh no",
			workload.CommandEnd{Exit: 3, Stdout: "begun", Stderr: "first\noh no", StdoutBytes: 6, StderrBytes: 12, Files: 1, Bytes: 6}},
		{"silent", shell("exit 1"), "sh ended with exit status 1", workload.CommandEnd{Exit: 1}},
		{"signal", shell("kill -TERM $$"), "sh was ended by a signal (terminated)", workload.CommandEnd{Exit: -1, Signal: "terminated"}},
		{"stdout only", shell("echo lost; false"), "sh ended with exit status 1: lost", workload.CommandEnd{Exit: 1, Stdout: "lost", StdoutBytes: 5}},
		{"a trace", shell(`printf 'a.rb:1: lost (IOError)\n\tfrom b.rb:2\n  from c.rb:3\n' >&2; exit 1`), "sh ended with exit status 1: a.rb:1: lost (IOError)",
			workload.CommandEnd{Exit: 1, Stderr: "a.rb:1: lost (IOError)\n\tfrom b.rb:2\n  from c.rb:3", StderrBytes: 50}},
		{"no folder", workload.CommandSpec{Argv: []string{"true"}, Dir: "{source}/none"}, "no such file", workload.CommandEnd{Exit: -1}},
	} {
		_, err := prepare(t, row.c, "", workload.Folders{Work: t.TempDir()}).Run(t.Context(), nil)
		var p *workload.PartialError
		var e *workload.CommandError
		if !errors.As(err, &p) || !errors.As(err, &e) {
			t.Errorf("%s: Run = %v, want how far it got", row.name, err)
			continue
		}
		if !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
		if e.End != row.end {
			t.Errorf("%s: end %+v, want %+v", row.name, e.End, row.end)
		}
		if p.Done.Ops != row.end.Files || p.Done.Bytes != row.end.Bytes || p.Done.At <= 0 {
			t.Errorf("%s: done %+v, want %+v", row.name, p.Done, row.end)
		}
	}
}

// TestFull: a program that fills its place fails as the place does, with what it wrote before.
func TestFull(t *testing.T) {
	f := workload.Folders{Work: disktest.Tmpfs(t, "size=1m"), Source: t.TempDir()}
	c := workload.CommandSpec{Argv: []string{"cp", "-r", "{source}/.", "{destination}"}, Site: &website.Spec{Posts: 2, Files: 40, Bytes: 4 << 20}}
	_, err := prepare(t, c, "", f).Run(t.Context(), nil)
	var e *workload.CommandError
	if !errors.As(err, &e) {
		t.Fatalf("Run on a full disk = %v", err)
	}
	if e.End.Exit != 1 || !strings.Contains(e.End.Stderr, "No space left on device") {
		t.Errorf("Run on a full disk: exit %d, %q", e.End.Exit, e.End.Stderr)
	}
	if e.End.Files < 1 || e.End.Bytes < 100_000 || e.End.Bytes > 1<<20 {
		t.Errorf("Run on a full disk: %d bytes in %d files", e.End.Bytes, e.End.Files)
	}
}

// TestKept: no more of the output is kept than was asked for, its end.
func TestKept(t *testing.T) {
	c := shell(`i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done`)
	c.Output = 100
	res, err := prepare(t, c, "", workload.Folders{Work: t.TempDir()}).Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := res.Command; len(e.Stdout) > 100 || !strings.HasSuffix(e.Stdout, "line 998\nline 999") || e.StdoutBytes != 8890 {
		t.Errorf("kept %q of %d bytes", e.Stdout, e.StdoutBytes)
	}
}

// TestMissing: a program that isn't there is told apart, by the PATH that it would have.
func TestMissing(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tool"), []byte("#!/bin/sh\necho here\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := workload.CommandSpec{Argv: []string{"tool"}}
	if p, err := Find(&c); !errors.Is(err, workload.ErrNoProgram) {
		t.Errorf("Find = %q, %v, want ErrNoProgram", p, err)
	}
	if _, err := Prepare(t.Context(), workload.Spec{Kind: workload.Command, Command: &c}, workload.Folders{Work: t.TempDir()}); !errors.Is(err, workload.ErrNoProgram) {
		t.Errorf("Prepare = %v, want ErrNoProgram", err)
	}
	c.Env = map[string]string{"PATH": bin}
	if p, err := Find(&c); err != nil || p != filepath.Join(bin, "tool") {
		t.Errorf("Find = %q, %v", p, err)
	}
	if res, err := prepare(t, c, "", workload.Folders{Work: t.TempDir()}).Run(t.Context(), nil); err != nil || res.Command.Stdout != "here" {
		t.Errorf("Run = %v", err)
	}
}

// TestEnds: with its context it ends at once, and nothing that it started lives on.
func TestEnds(t *testing.T) {
	for name, script := range map[string]string{
		"cancelled":   "sleep 1000 & echo $! > pid; echo waiting; wait",
		"left behind": "sleep 1000 >/dev/null 2>&1 & echo $! > ../pid",
	} {
		dir := t.TempDir()
		r := prepare(t, shell(script), "", workload.Folders{Work: dir})
		ctx, cancel := context.WithCancelCause(t.Context())
		pidFile := filepath.Join(dir, "command", "out", "pid")
		if name == "left behind" {
			pidFile = filepath.Join(dir, "command", "pid")
		} else {
			go func() {
				for {
					if b, _ := os.ReadFile(pidFile); strings.HasSuffix(string(b), "\n") {
						cancel(errors.New("enough"))
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
		}
		_, err := r.Run(ctx, nil)
		if stopped := err != nil && strings.Contains(err.Error(), "enough"); stopped != (name == "cancelled") {
			t.Errorf("%s: Run = %v", name, err)
		}
		b, err := os.ReadFile(pidFile)
		pid, aerr := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || aerr != nil {
			t.Fatal(err, aerr)
		}
		alive := func() bool {
			st, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err == nil && !strings.Contains(string(st), ") Z ")
		}
		for deadline := time.Now().Add(time.Minute); alive(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				syscall.Kill(pid, syscall.SIGKILL)
				t.Errorf("%s: process %d lives on", name, pid)
				break
			}
		}
		cancel(nil)
	}
}

// TestJekyll builds the generated site as the plan site-build does.
func TestJekyll(t *testing.T) {
	if _, err := exec.LookPath("jekyll"); err != nil {
		t.Skip("needs jekyll (Debian's package jekyll)")
	}
	c := workload.CommandSpec{Argv: []string{"jekyll", "build", "--disable-disk-cache", "--source", "{source}", "--destination", "{destination}"}, Site: small}
	res, err := prepare(t, c, workload.Cold, workload.Folders{Work: t.TempDir(), Source: t.TempDir()}).Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := res.Command; !strings.Contains(e.Stdout, "done in") || e.Files != 16 { // 2 posts, 4 pages, 10 pictures.
		t.Errorf("jekyll: %+v", e)
	}
}
