package witness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/agent"
	"plimsoll/internal/check"
	"plimsoll/internal/device"
	"plimsoll/internal/engine"
	"plimsoll/internal/leaktest"
	"plimsoll/internal/place"
	"plimsoll/internal/record"
	"plimsoll/internal/workertest"
	"plimsoll/internal/workload"
)

// command runs a program of the system and returns its output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// loopDevice makes a loop device over an empty file, and detaches it at the end. Without
// direct I/O the page cache of its file serves it.
func loopDevice(t *testing.T, size int64, direct string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a loop device")
	}
	dir := t.TempDir()
	leaktest.Check(t, dir)
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, size); err != nil {
		t.Fatal(err)
	}
	loop := command(t, "losetup", "--direct-io="+direct, "--find", "--show", image)
	t.Cleanup(func() { command(t, "losetup", "--detach", loop) })
	return loop
}

// mount mounts something on a folder of its own until the end of the test.
func mount(t *testing.T, source, kind, data string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(source, dir, kind, 0, data); err != nil {
		t.Fatalf("mount %s: %v", kind, err)
	}
	t.Cleanup(func() {
		err := unix.Unmount(dir, 0)
		// What a worker's rings held open goes a moment after it.
		for end := time.Now().Add(5 * time.Second); err == unix.EBUSY && time.Now().Before(end); err = unix.Unmount(dir, 0) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("unmount %s: %v", dir, err)
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
	return dir
}

// disk makes a loop device of 128 MiB with an ext4, and mounts it.
func disk(t *testing.T, options string) (loop, dir string) {
	t.Helper()
	loop = loopDevice(t, 128<<20, "on")
	// Without lazy initialisation, which would write in the background.
	command(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loop)
	return loop, mount(t, loop, "ext4", options)
}

// sectors are what a device says of itself in sysfs, in bytes: the test's own look at
// the kernel's counters (Documentation/block/stat.rst).
func sectors(t *testing.T, dev string) (read, written int64) {
	t.Helper()
	b, err := os.ReadFile("/sys/block/" + filepath.Base(dev) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b))
	for i, p := range map[int]*int64{2: &read, 6: &written} {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		*p = n * 512
	}
	return read, written
}

// A bench runs trials with a real worker in one folder.
type bench struct {
	agent  *agent.Agent
	target string
	fs     device.FS
	// during is called when the trial has begun, with the agent's process.
	during func()
	// machine is what the checks are told of the machine.
	machine record.Run
}

// newBench starts a worker of the host's engine in dir.
func newBench(t *testing.T, dir string) *bench {
	t.Helper()
	return openBench(t, engine.NewHost(t.TempDir(), workertest.Source(t)), engine.Spec{Place: place.Spec{Name: "p", Kind: place.Dir, Path: dir}})
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

// wantWarning fails unless the trial has a warning of the check and severity with the words.
func wantWarning(t *testing.T, tr *record.Trial, check, severity string, words ...string) {
	t.Helper()
	for _, w := range tr.Warnings {
		if w.Check != check || w.Severity != severity {
			continue
		}
		for _, word := range words {
			if !strings.Contains(w.Text, word) {
				t.Errorf("%s: %q lacks %q", check, w.Text, word)
			}
		}
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
