package limits

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/leaktest"
)

// TestRun: each place has its rows, with as many writes as there are values to change and none where all is as
// wanted, and nothing is left behind.
func TestRun(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	leaktest.Check(t, fmt.Sprintf("plimsoll-bench-limit-%d", os.Getpid()), tmp)
	var out bytes.Buffer
	if _, err := run(t.Context(), &out, 5, 2, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	writes := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, rest, _ := strings.Cut(line, "  ")
		if m := regexp.MustCompile(`<= \S+ .*  (\S+) +(\d+) writes`).FindStringSubmatch(rest); m != nil {
			writes[name] = m[2]
			// Few groups say nothing about the goal.
			if m[1] != "-" {
				t.Errorf("judged: %s", line)
			}
		}
	}
	want := map[string]string{
		"plain files, version 1, set": "20", "plain files, version 1, nothing to do": "0", "plain files, version 1, changed": "20",
		"plain files, version 2, set": "5", "plain files, version 2, nothing to do": "0", "plain files, version 2, changed": "5",
	}
	switch real := strings.Contains(out.String(), "this machine, version "); {
	case real && strings.Contains(out.String(), "this machine, version 1"):
		want["this machine, version 1, set"], want["this machine, version 1, nothing to do"] = "20", "0"
		want["this machine, version 1, changed"], want["this machine, version 1, removed"] = "20", "20"
		want["this machine, version 1, keeper, idle for 200ms"] = "0"
		want["this machine, version 1, keeper, all started at once"], want["this machine, version 1, keeper, nothing to do"] = "20", "0"
		want["this machine, version 1, watched"] = "0"
	case real:
		want["this machine, version 2, keeper, idle for 200ms"] = "0"
		want["this machine, version 2, keeper, all started at once"], want["this machine, version 2, keeper, nothing to do"] = "5", "0"
		want["this machine, version 2, set"], want["this machine, version 2, nothing to do"] = "5", "0"
		want["this machine, version 2, changed"], want["this machine, version 2, removed"] = "5", "5"
		want["this machine, version 2, watched"] = "0"
	case !strings.Contains(out.String(), "skipped: "):
		t.Errorf("nothing is said of this machine:\n%s", out.String())
	}
	if len(writes) != len(want) {
		t.Errorf("%d rows, want %d:\n%s", len(writes), len(want), out.String())
	}
	for name, n := range want {
		if writes[name] != n {
			t.Errorf("%s: %q writes, want %s\n%s", name, writes[name], n, out.String())
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterrupted: groups and files go also when it is broken off.
func TestInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	leaktest.Check(t, fmt.Sprintf("plimsoll-bench-limit-%d", os.Getpid()), tmp)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, makePlace := range []func(int) (*place, func() error, error){machine, func(n int) (*place, func() error, error) { return fixture(1, n) }} {
		_, err := measure(ctx, "x", 3, 1, time.Second, makePlace)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := run(ctx, &bytes.Buffer{}, 0, 1, time.Second); err == nil {
		t.Error("no group is a number of groups")
	}
}

// fakeBed tries nothing: it tells what a bed would.
type fakeBed struct {
	closed *atomic.Int32
	err    error
}

func (b fakeBed) Close() error { b.closed.Add(1); return nil }

func (b fakeBed) try(_ context.Context, r rung, t time.Duration) (row.Row, error) {
	measured := row.Row{Finding: judge.Finding{Key: r.key, Asked: float64(r.asked), Verdict: judge.Held}, Mode: row.Direct, App: float64(r.asked), Elapsed: t}
	switch r.asked {
	case 10e6:
		measured.Off, measured.Overshoot = -0.03, 0.21
	case 20000:
		measured = row.Row{Finding: judge.Finding{Key: r.key, Asked: float64(r.asked), Verdict: judge.Failed}, Mode: row.Direct, Error: "it broke"}
	}
	return measured, b.err
}

// TestAccuracy: each limit has a row beside its targets, in their order, also one that could not be measured.
func TestAccuracy(t *testing.T) {
	var out bytes.Buffer
	var closed atomic.Int32
	missed, err := accuracy(t.Context(), &out, false, func(int) (bed, error) { return fakeBed{closed: &closed}, nil })
	// Two limits of 10 MB/s missed both of their goals, and two were not measured.
	if err != nil || missed != 6 || closed.Load() != 16 {
		t.Errorf("%d goals were missed, want 6; %d beds closed, want 16; %v", missed, closed.Load(), err)
	}
	golden.Check(t, "accuracy.txt", out.String())
	out.Reset()
	if _, err := accuracy(t.Context(), &out, true, func(int) (bed, error) { return nil, errSkip("it needs root") }); err != nil || !strings.Contains(out.String(), "skipped: it needs root") {
		t.Errorf("where it can't be had: %v, %s", err, out.String())
	}
	broken := errors.New("no disk")
	_, err = accuracy(t.Context(), &out, true, func(int) (bed, error) { return fakeBed{&closed, broken}, nil })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "write_bps of 1000000: no disk") {
		t.Errorf("a bed that breaks: %v", err)
	}
	for _, quick := range []bool{false, true} {
		keys, most, least := map[limit.Key]bool{}, int64(0), int64(1)<<62
		for _, r := range rungs(quick) {
			keys[r.key], most, least = true, max(most, r.asked), min(least, r.asked)
		}
		if len(keys) != 4 || most != 500e6 || least != 50 {
			t.Errorf("quick %v: %d kinds from %d to %d", quick, len(keys), least, most)
		}
	}
}

// TestMemoryBed: a limit is measured for real, and nothing is left behind, also when it is broken off.
func TestMemoryBed(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	leaktest.Check(t, fmt.Sprintf("plimsoll-bench-limit-%d", os.Getpid()), tmp)
	b, err := newMemoryBed(99)
	var skip errSkip
	if errors.As(err, &skip) {
		t.Skip(skip)
	}
	if err != nil {
		t.Fatal(err)
	}
	measured, err := b.try(t.Context(), rung{key: limit.WriteIOPS, asked: 50}, row.LeastTime)
	if err != nil || measured.Verdict != judge.Held {
		t.Errorf("try() = %s, %v", measured.Words(), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := b.try(ctx, rung{key: limit.WriteIOPS, asked: 50}, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("broken off: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
