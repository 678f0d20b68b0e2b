package watch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// TestBurstOnKernel: what one fsync submits is charged at once and held back by the limit; it is at the limit all the time,
// and never above it.
func TestBurstOnKernel(t *testing.T) {
	t.Parallel()
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true, Memory: true})
	l := newLab(t, []string{loop}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" 5242880"); err != nil {
		t.Fatal(err)
	}
	for try := 1; ; try++ {
		waited, came, charged := l.burst(loop, dir)
		// Another program's sync writes part of the file by the kernel's own threads, which no limit of version 1 binds.
		if charged < 20*mib && try < 4 {
			t.Logf("%.1f of 20 MiB were charged; once more", float64(charged)/mib)
			continue
		}
		if waited < 5*mib {
			t.Errorf("no more than %d bytes waited, of 20 MiB at 5 MiB/s", waited)
		}
		if !within(int64(came)+mib/2, 20) || !within(charged, 20) {
			t.Errorf("%.1f MiB came through, %.1f were charged, want 20", came/mib, float64(charged)/mib)
		}
		return
	}
}

// writer is a program in the group that writes so many MiB to a file, with one fsync, once begin is called. done has its end, which the test
// waits for.
func (l *lab) writer(dir string, mebibytes int) (begin func(), done <-chan error) {
	l.t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`read go; dd if=/dev/zero of="$0" bs=1M count=%d conv=fsync status=none`, mebibytes), filepath.Join(dir, "file"))
	in, err := cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	end, over := make(chan error, 1), make(chan struct{})
	go func() {
		end <- cmd.Wait()
		close(over)
	}()
	l.t.Cleanup(func() {
		in.Close()
		<-over
	})
	if err := l.group.Add(cmd.Process.Pid); err != nil {
		l.t.Fatal(err)
	}
	return func() { fmt.Fprintln(in, "go") }, end
}

// burst writes 20 MiB to a file in the group with one fsync, and returns how many bytes waited at most, how many came through the limit
// and how many were charged.
func (l *lab) burst(loop, dir string) (waited int64, came float64, charged int64) {
	t := l.t
	t.Helper()
	begin, done := l.writer(dir, 20)
	before := l.sample()
	begin()
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
	return waited, came, charged
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

// TestSubmittedBeforeOnKernel: a group that waits at its limit, for I/O that an fsync submitted before the first sample,
// is not reported as below its limit.
func TestSubmittedBeforeOnKernel(t *testing.T) {
	t.Parallel()
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 * mib, Direct: true, Memory: true})
	l := newLab(t, []string{loop}, []string{dir})
	if err := l.group.Put("blkio.throttle.write_bps_device", disktest.Number(t, loop)+" 5242880"); err != nil {
		t.Fatal(err)
	}
	begin, done := l.writer(dir, 40)
	begun := l.sample()
	begin()
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
	// Another program's sync writes part of it by the kernel's own threads, uncharged.
	for last, end := int64(-1), time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		now := charged()
		if now >= 20*mib && now == last {
			break
		}
		if last = now; time.Now().After(end) {
			t.Fatalf("%d bytes were charged in a minute, want 40 MiB", now)
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
		n++
		if r.Standing == Below {
			t.Errorf("a process that waits at its limit is below it: %+v", r)
		}
		if r.Standing == Unknown && (r.Seen != nil || len(i.Subjects[0].Notes) == 0) {
			t.Errorf("unknown, want nothing seen and a note: %+v, notes %q", r, i.Subjects[0].Notes)
		}
	}
	if n != 1 {
		t.Errorf("%d limits on writes, want 1", n)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
