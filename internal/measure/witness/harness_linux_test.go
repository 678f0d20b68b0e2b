package witness

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/testkit/workertest"
)

// disk makes a loop device with an ext4 that bypasses the page cache of its file, and mounts it.
func disk(t *testing.T, options string) (loop, dir string) {
	t.Helper()
	return disktest.Disk(t, disktest.Options{Size: 128 << 20, Direct: true, Mount: options})
}

// A bench runs trials with a real worker in one folder.
type bench struct {
	agent  *agent.Agent
	target string
	fs     device.FS
	// during is called when the trial has begun, with the agent's process.
	during func()
	// machine is the record of the machine that the checks get.
	machine record.Run
}

// newBench starts a worker of the host's engine in dir.
func newBench(t *testing.T, dir string) *bench {
	t.Helper()
	return openBench(t, host.New(t.TempDir(), workertest.Source(t)), engine.Spec{Place: place.Spec{Name: "p", Kind: place.Dir, Path: dir}})
}

func openBench(t *testing.T, e engine.Engine, spec engine.Spec) *bench {
	t.Helper()
	spec.ID = fmt.Sprintf("witness-%d-%s", os.Getpid(), strings.ToLower(strings.Map(func(r rune) rune {
		if r == '/' || r == '_' {
			return '-'
		}
		return r
	}, t.Name())))
	s, err := e.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		s.Close(context.Background())
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &bench{agent: a, fs: device.Host()}
}

// run does a trial as package trial does, with the witness around it.
func (b *bench) run(t *testing.T, spec workload.Spec) *record.Trial {
	t.Helper()
	spec.Name = "w"
	spec.Job.Filename = b.target
	spec = spec.WithDefaults()
	tr := &record.Trial{Status: record.Done, Spec: spec, Metric: spec.Metric()}
	if err := b.agent.Prepare(t.Context(), "1", spec); err != nil {
		t.Fatal(err)
	}
	after := New(b.fs).Before([]*agent.Agent{b.agent}, b.target)
	if err := b.agent.Start("1"); err != nil {
		t.Fatal(err)
	}
	if b.during != nil {
		b.during()
	}
	res, err := b.agent.Wait(t.Context(), "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.Results = []workload.Result{*res}
	tr.Value = res.Value(tr.Metric)
	after(tr)
	tr.Warnings = check.Trial(tr, &b.machine)
	return tr
}

// warned reports whether a trial has a warning of a check.
func warned(tr *record.Trial, check string) bool {
	return slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return w.Check == check })
}

// wantWarning fails unless the trial has a warning of the check and severity with the words.
func wantWarning(t *testing.T, tr *record.Trial, check, severity string, words ...string) {
	t.Helper()
	for _, w := range tr.Warnings {
		if w.Check != check || w.Severity != severity {
			continue
		}
		texttest.Has(t, w.Text, words, check)
		if severity == record.Doubt && len(w.Evidence) < 3 {
			t.Errorf("%s has no evidence: %q", check, w.Text)
		}
		return
	}
	t.Errorf("no %s of check %s: %+v, truth %+v", severity, check, tr.Warnings, tr.Truth)
}

// wantNone fails if the trial has a warning of the check.
func wantNone(t *testing.T, tr *record.Trial, checks ...string) {
	t.Helper()
	for _, w := range tr.Warnings {
		for _, c := range checks {
			if w.Check == c {
				t.Errorf("%s without a reason: %s", c, w.Text)
			}
		}
	}
}
