package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// patience bounds what takes no time at all on a machine that isn't stuck.
const patience = 30 * time.Second

// A parent speaks with an agent that runs in this process.
type parent struct {
	t    *testing.T
	in   *io.PipeWriter
	w    *wire.Writer
	msgs chan wire.Message
	done chan error
}

// realWorker installs the worker's own program.
func realWorker(t *testing.T) string {
	t.Helper()
	b, err := workertest.Source(t)(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	return program(t, b)
}

// script makes a program that stands in for a worker gone wrong. It has read the
// run request when the lines begin.
func script(t *testing.T, lines string) string {
	t.Helper()
	return program(t, []byte("#!/bin/sh\nread request\n"+lines+"\n"))
}

func program(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts an agent and reads its hello. It has to end by itself when the
// test closes its input.
func serve(t *testing.T, exe, dir string) *parent {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &parent{t, inW, wire.NewWriter(inW), make(chan wire.Message, 64), make(chan error, 1)}
	go func() {
		err := Agent(context.Background(), exe, workload.Folders{Work: dir}, inR, outW)
		outW.Close()
		inR.Close()
		p.done <- err
	}()
	go func() {
		defer close(p.msgs)
		for r := wire.NewReader(outR); ; {
			m, _, err := r.Next()
			if err != nil {
				io.Copy(io.Discard, outR)
				return
			}
			p.msgs <- m
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		for range p.msgs {
		}
	})
	hello := p.next().Hello
	if hello == nil || hello.Version != wire.Version {
		t.Fatalf("hello: %+v, want version %d", hello, wire.Version)
	}
	if hello.Dir != dir || hello.Mount.FSType == "" {
		t.Fatalf("hello of %s on %+v, want %s", hello.Dir, hello.Mount, dir)
	}
	return p
}

func (p *parent) send(m wire.Message) {
	p.t.Helper()
	if err := p.w.Send(m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *parent) run(id string, s workload.Spec) {
	p.t.Helper()
	p.send(wire.Message{Run: &wire.Run{ID: id, Spec: s}})
}

// next returns the next message; the zero one at the end.
func (p *parent) next() wire.Message {
	p.t.Helper()
	select {
	case m := <-p.msgs:
		return m
	case <-time.After(patience):
		p.t.Fatal("the agent says nothing")
		return wire.Message{}
	}
}

// wantReady reads the ready of a trial.
func (p *parent) wantReady(id string) {
	p.t.Helper()
	if m := p.next(); m.Ready == nil || m.Ready.ID != id {
		p.t.Fatalf("message %+v (%+v), want ready %s", m, m.Error, id)
	}
}

// wantError reads the error of a trial, with text in it.
func (p *parent) wantError(id, phase, text string) wire.Error {
	p.t.Helper()
	m := p.next()
	for m.Sample != nil {
		m = p.next()
	}
	if m.Error == nil {
		p.t.Fatalf("message %+v, want an error", m)
	}
	if e := *m.Error; e.ID != id || e.Phase != phase || !strings.Contains(e.Text, text) {
		p.t.Fatalf("error %+v, want %s of %s in phase %s", e, text, id, phase)
	}
	return *m.Error
}

// whole runs a trial from the beginning to the end.
func (p *parent) whole(id string) {
	p.t.Helper()
	p.run(id, short)
	p.wantReady(id)
	p.send(wire.Message{Start: &wire.Start{ID: id}})
	p.wantResult(id)
}

// wantResult reads the samples and the result of a short trial.
func (p *parent) wantResult(id string) {
	p.t.Helper()
	m := p.next()
	for m.Sample != nil {
		m = p.next()
	}
	if m.Result == nil || m.Result.ID != id || m.Result.Ops() != int64(short.Count) {
		p.t.Fatalf("message %+v (%+v), want the result of %s", m, m.Error, id)
	}
}

// end closes the agent's input and returns its last word.
func (p *parent) end() error {
	p.t.Helper()
	p.in.Close()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatal("the agent doesn't end with its input")
		return nil
	}
}

var (
	short = workload.Spec{Name: "short", Kind: workload.Append, Count: 50}
	long  = workload.Spec{Name: "long", Kind: workload.WAL, Runtime: time.Hour}
	// slow takes long to lay out.
	slow = workload.Spec{Name: "slow", Kind: workload.Tree, Count: 1_000_000, BS: 1}
)

// wantNoTrial fails if a child of this process works in dir.
func wantNoTrial(t *testing.T, dir string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if b, _ := os.ReadFile(l); strings.Contains(string(b), "trial\x00--dir\x00"+dir+"\x00") {
			t.Errorf("%s still works in %s", l, dir)
		}
	}
}

func TestAgent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, realWorker(t), dir)
	p.whole("1")
	// The trial's outputs are gone before its result arrives.
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left by the trial: %v, %v", left, err)
	}
	p.send(wire.Message{Stop: &wire.Stop{ID: "1"}}) // Too late: no answer.
	p.whole("2")
	if err := p.end(); err != nil {
		t.Errorf("Agent() = %v", err)
	}
}

func TestAgentWrongID(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	p.send(wire.Message{Start: &wire.Start{ID: "none"}})
	p.wantError("none", wire.PhaseRun, "no such trial")
	p.run("1", short)
	p.wantReady("1")
	p.send(wire.Message{Start: &wire.Start{ID: "2"}})
	p.wantError("2", wire.PhaseRun, "no such trial")
	p.send(wire.Message{Stop: &wire.Stop{ID: "2"}}) // Must not hit trial 1.
	p.send(wire.Message{Start: &wire.Start{ID: "1"}})
	p.wantResult("1")
}

func TestAgentStopInPrepare(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	p.run("1", slow)
	p.send(wire.Message{Stop: &wire.Stop{ID: "1"}})
	if e := p.wantError("1", wire.PhasePrepare, "the trial's input ended"); e.Signal != "" {
		t.Errorf("error %+v, want an end without a signal", e)
	}
	wantNoTrial(t, dir)
	p.whole("2")
}

// TestAgentRunWhileRunning: a new request ends the trial that runs.
func TestAgentRunWhileRunning(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	p.run("1", long)
	p.wantReady("1")
	p.send(wire.Message{Start: &wire.Start{ID: "1"}})
	p.run("2", short)
	p.wantError("1", wire.PhaseRun, "killed")
	p.wantReady("2")
}

// TestAgentEndOfInput: whatever runs, the agent ends with its input and takes the
// trial along.
func TestAgentEndOfInput(t *testing.T) {
	exe := realWorker(t)
	for name, begin := range map[string]func(p *parent){
		"idle":    func(*parent) {},
		"prepare": func(p *parent) { p.run("1", slow) },
		"ready":   func(p *parent) { p.run("1", long); p.wantReady("1") },
		"run": func(p *parent) {
			p.run("1", long)
			p.wantReady("1")
			p.send(wire.Message{Start: &wire.Start{ID: "1"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := serve(t, exe, dir)
			begin(p)
			if err := p.end(); err != nil {
				t.Errorf("Agent() = %v", err)
			}
			wantNoTrial(t, dir)
		})
	}
}

// TestAgentTornInput: a request that breaks off is an error, and the trial goes too.
func TestAgentTornInput(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	p.run("1", long)
	p.wantReady("1")
	if _, err := io.WriteString(p.in, `{"start":{"id":`); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err == nil || !strings.Contains(err.Error(), "not a message") {
		t.Errorf("Agent() = %v, want not a message", err)
	}
	wantNoTrial(t, dir)
}

// TestAgentBadTrial: a trial's process that goes wrong is an error that tells how,
// and the agent lives.
func TestAgentBadTrial(t *testing.T) {
	const ready = `echo '{"ready":{"id":"1"}}'; `
	for _, row := range []struct {
		name, script, phase, text, signal, log string
		done                                   int64
	}{
		{"ends at once", "exit 0", wire.PhasePrepare, "without a result", "", "", 0},
		{"exit status", "echo why >&2; exit 3", wire.PhasePrepare, "exit status 3", "", "why", 0},
		{"killed", ready + "kill -9 $$", wire.PhaseRun, "killed", "killed", "", 0},
		{"garbage", "echo Bus error", wire.PhasePrepare, `"Bus error"`, "", "", 0},
		{"garbage for ever", ready + "echo words >&2; while :; do echo garbage; done", wire.PhaseRun, `"garbage"`, "", "words", 0},
		{"a parent's message", ready + `echo '{"start":{"id":"1"}}'; sleep 60`, wire.PhaseRun, "not for the parent", "", "", 0},
		{"samples, then dies", ready + `echo '{"sample":{"id":"1","at":5,"ops":3,"bytes":4}}'; echo '{"sample":{"id":"1","at":9,"ops":4,"bytes":4}}'; exit 1`, wire.PhaseRun, "exit status 1", "", "", 7},
		{"error with log", "echo words >&2; " + `echo '{"error":{"id":"1","phase":"prepare","text":"full"}}'`, wire.PhasePrepare, "full", "", "words", 0},
		{"holds standard error open", "sleep 3 >/dev/null & exit 1", wire.PhasePrepare, "exit status 1", "", "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := serve(t, script(t, row.script), t.TempDir())
			p.run("1", short)
			if row.phase == wire.PhaseRun {
				p.wantReady("1")
			}
			e := p.wantError("1", row.phase, row.text)
			if e.Signal != row.signal || !strings.Contains(e.Log, row.log) {
				t.Errorf("signal %q, log %q, want %q, %q", e.Signal, e.Log, row.signal, row.log)
			}
			if want := (&load.Sample{Ops: row.done, Bytes: 8, At: 9}); row.done > 0 && !reflect.DeepEqual(e.Done, want) {
				t.Errorf("done %+v, want %+v", e.Done, want)
			}
			p.run("2", short)
			m := p.next()
			for m.Sample != nil || m.Ready != nil {
				m = p.next()
			}
			if m.Error == nil {
				t.Errorf("message %+v of the second trial, want its error", m)
			}
		})
	}
}

// TestAgentNoProgram: a worker that is gone is the trial's error, not the agent's.
func TestAgentNoProgram(t *testing.T) {
	p := serve(t, filepath.Join(t.TempDir(), "none"), t.TempDir())
	p.run("1", short)
	p.wantError("1", wire.PhasePrepare, "start the trial's process")
}

// TestTrial: what a trial refuses, and that it ends with its input.
func TestTrial(t *testing.T) {
	run := `{"run":{"id":"1","spec":{"name":"w","kind":"wal","runtime":3600000000000}}}` + "\n"
	for _, row := range []struct{ name, in, out, err string }{
		{"nothing", "", "", "EOF"},
		{"garbage", "what\n", "", "not a message"},
		{"start first", `{"start":{"id":"1"}}` + "\n", "", "not a run request"},
		{"bad spec", `{"run":{"id":"1","spec":{"name":"w","kind":"swim"}}}` + "\n", `"phase":"prepare"`, ""},
		{"input ends when ready", run, `{"ready":{"id":"1"}}`, "input ended"},
		{"input ends while it runs", run + `{"start":{"id":"1"}}` + "\n", `{"ready":{"id":"1"}}`, "input ended"},
	} {
		dir := t.TempDir()
		var out strings.Builder
		err := Trial(t.Context(), workload.Folders{Work: dir}, strings.NewReader(row.in), &out)
		told := out.String()
		if err != nil {
			told += err.Error()
		}
		if !strings.Contains(told, row.err) || !strings.Contains(out.String(), row.out) {
			// While it runs the end is told as the trial's error.
			t.Errorf("%s: Trial() = %v, wrote %q, want %q and %q", row.name, err, out.String(), row.err, row.out)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v", row.name, left)
		}
	}
}

func TestDescribe(t *testing.T) {
	done := load.Sample{Ops: 3}
	e := describe("1", wire.PhaseRun, &workload.PartialError{Done: done, Err: &os.PathError{Op: "write", Path: "x", Err: os.ErrClosed}})
	if e.Done == nil || e.Done.Ops != 3 {
		t.Errorf("describe() has done %+v, want 3", e.Done)
	}
	if e.Errno != 0 || e.Phase != wire.PhaseRun {
		t.Errorf("describe() has errno %d in phase %s", e.Errno, e.Phase)
	}
	_, err := os.Open(filepath.Join(t.TempDir(), "none"))
	if e := describe("1", wire.PhasePrepare, err); e.Errno != 2 || e.Done != nil {
		t.Errorf("describe(%v) = %+v, want errno 2", err, e)
	}
	if text, signal := ending(errors.New("x")); signal != "" || !strings.Contains(text, "x") {
		t.Errorf("ending = %q, %q", text, signal)
	}
}
