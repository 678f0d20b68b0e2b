package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/conf/controlfile"
)

// TestPipe: a policy that somebody replaces by a named pipe is a fault like any other: the keeper goes on, reads the next good one,
// and ends when it is told to.
func TestPipe(t *testing.T) {
	b := newBench(t, Options{Poll: 20 * time.Millisecond}, oneRule)
	pipe := b.opt.Policy + ".pipe"
	swap := func() {
		t.Helper()
		if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Rename(pipe, b.opt.Policy)); err != nil {
			t.Fatal(err)
		}
	}
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	swap()
	eventually(t, "the pipe is told", func() bool {
		return strings.Contains(b.k.Status().Policy.Fault, "is a named pipe") && b.said("the old policy stays in force")
	})
	b.has("1048576")
	b.write(b.text(strings.Replace(oneRule, "1MiB", "2MiB", 1)))
	b.has("2097152")
	swap()
	eventually(t, "the pipe is told again", func() bool { return b.k.Status().Policy.Fault != "" })
	b.stop()

	// The next one has the last good policy, and a hook too.
	b.begin()
	if s := b.k.Status().Policy; filepath.Base(s.From) != LastGood || !strings.Contains(s.Fault, "is a named pipe") {
		t.Errorf("policy %+v", s)
	}
	var out Done
	if p, err := lastGood(b.opt, &out); err != nil || len(p.Rules) != 1 || len(out.Notes) != 1 {
		t.Errorf("the hook's policy: %+v, %v, %q", p, err, out.Notes)
	}
	b.stop()
	// Without one it doesn't start; a pipe is no good policy either, and one in the place of the lock isn't read.
	good := filepath.Join(b.opt.Run, LastGood)
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Rename(pipe, good)); err != nil {
		t.Fatal(err)
	}
	var kind *controlfile.Error
	if _, err := New(b.opt); !errors.As(err, &kind) || kind.Path != b.opt.Policy {
		t.Errorf("New() = %v", err)
	}
	if _, err := lastGood(b.opt, &out); !errors.As(err, &kind) || kind.Path != b.opt.Policy {
		t.Errorf("the hook's policy: %v", err)
	}
}
