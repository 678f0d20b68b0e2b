package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/disktest"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/target"
)

// TestBurstOnKernel: what one fsync submits is charged at once and held back by the limit; it is at the limit all the time,
// and never above it.
func TestBurstOnKernel(t *testing.T) {
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true, Memory: true})
	l := newLab(t, []string{loop}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" 5242880"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "read go; dd if=/dev/zero of="+filepath.Join(dir, "file")+" bs=1M count=20 conv=fsync status=none")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if err := l.group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	before := l.sample()
	fmt.Fprintln(in, "go")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	waited, came, charged := int64(0), 0.0, int64(0)
	for ended := false; !ended; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			ended = true
		case <-time.After(time.Second):
		}
		now := l.sample()
		i, err := Between(before, now, l.sampler.Beneath)
		if err != nil {
			t.Fatal(err)
		}
		before = now
		for _, r := range i.Subjects[0].Rates {
			if r.Key != limit.WriteBPS || "/dev/"+r.Device != loop {
				continue
			}
			if r.Standing == Above {
				t.Errorf("in %.2f s: %+v, seen %.1f MiB/s: a limit that holds is called passed", i.Seconds, r, *r.Seen/mib)
			}
			if r.Waiting > 0 && !i.Subjects[0].Busy() {
				t.Errorf("%d bytes wait, and it is idle", r.Waiting)
			}
			waited, came = max(waited, r.Waiting), came+*r.Seen*i.Seconds
		}
		if w := i.Subjects[0].Write; w != nil {
			charged += w.Bytes
		}
	}
	if waited < 5*mib {
		t.Errorf("no more than %d bytes waited, of 20 MiB at 5 MiB/s", waited)
	}
	if !within(int64(came)+mib/2, 20) || !within(charged, 20) {
		t.Errorf("%.1f MiB came through, %.1f were charged, want 20", came/mib, float64(charged)/mib)
	}
}

// TestNamedEnds: a target that was named and has ended is told of at each further look; only at the first one it is an error that it
// isn't there.
func TestNamedEnds(t *testing.T) {
	l := newLab(t, nil, nil)
	f := target.New(target.Options{})
	t.Cleanup(func() { f.Close() })
	l.holder.Finder = f
	ref, err := target.Parse("cgroup:" + string(l.group))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRoster(t.Context(), l.holder, []target.Ref{ref}, false)
	if list, _, err := r.Subjects(t.Context()); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if err := os.Remove(string(l.group)); err != nil {
		t.Fatal(err)
	}
	for look := range 3 {
		r.Ended()
		list, _, err := r.Subjects(t.Context())
		if err != nil || len(list) != 0 || len(r.Notes()) != 1 {
			t.Fatalf("look %d after its end: %v, %v, notes %q; want a note", look+1, list, err, r.Notes())
		}
	}
	r = NewRoster(t.Context(), l.holder, []target.Ref{ref}, false)
	if _, _, err := r.Subjects(t.Context()); err == nil {
		t.Error("a target that is not there at the first look: no error")
	}
}

// TestSubmittedBeforeOnKernel: who waits at its limit for what one fsync submitted before the first sample isn't below it.
func TestSubmittedBeforeOnKernel(t *testing.T) {
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true, Memory: true})
	l := newLab(t, []string{loop}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" 5242880"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "read go; dd if=/dev/zero of="+filepath.Join(dir, "file")+" bs=1M count=40 conv=fsync status=none")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	if err := l.group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	begun := l.sample()
	fmt.Fprintln(in, "go")
	charged := func() int64 {
		i, err := Between(begun, l.sample(), l.sampler.Beneath)
		if err != nil {
			t.Fatal(err)
		}
		if w := i.Subjects[0].Write; w != nil {
			return w.Bytes
		}
		return 0
	}
	for end := time.Now().Add(time.Minute); charged() < 40*mib; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes were charged in a minute, want 40 MiB", charged())
		}
	}
	// As a command that begins now: it knows nothing of what was before.
	first := l.sample()
	first.Ahead = nil
	for _, r := range first.Subjects {
		r.Waiting = nil
	}
	time.Sleep(time.Second)
	second := l.sample()
	select {
	case err := <-done:
		t.Fatalf("40 MiB at 5 MiB/s ended after a second: %v", err)
	default:
	}
	i, err := Between(first, second, l.sampler.Beneath)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range i.Subjects[0].Rates {
		if r.Key != limit.WriteBPS || "/dev/"+r.Device != loop {
			continue
		}
		if n++; r.Standing == Below || r.Standing == Unknown && (r.Seen != nil || len(i.Subjects[0].Notes) == 0) {
			t.Errorf("who waits at its limit: %+v, notes %q", r, i.Subjects[0].Notes)
		}
	}
	if n != 1 {
		t.Errorf("%d limits on writes, want 1", n)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
