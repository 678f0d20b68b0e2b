package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/text/size"
)

// judged is says for a limit verify that finds its target and starts a worker there, but measures nothing: all rows have the verdict. It
// returns what would have been measured as well. Whether a limit holds is for package row to measure, and to judge from what it recorded.
func (l limitLab) judged(t *testing.T, verdict judge.Verdict, status int, words []string, args ...string) (asked []row.Request, text string) {
	t.Helper()
	return l.tried(t, func(r row.Request) (rows []row.Row) {
		modes := r.Modes
		if modes == nil {
			modes = row.Modes
		}
		for _, k := range limit.Keys {
			for _, mode := range modes {
				if r.Asked[k] > 0 {
					rows = append(rows, judgedRow(r, k, mode, verdict))
				}
			}
		}
		return rows
	}, status, words, args...)
}

// tried is judged with the rows that a function makes of each request.
func (l limitLab) tried(t *testing.T, try func(row.Request) []row.Row, status int, words []string, args ...string) (asked []row.Request, text string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, targets: &l.targets}
	a.try = func(_ context.Context, r row.Request) ([]row.Row, error) {
		asked = append(asked, r)
		return try(r), nil
	}
	got := a.run(t.Context(), slices.Concat([]string{"limit"}, args, []string{"--state", l.state}))
	text = out.String() + errs.String()
	if got != status {
		t.Errorf("limit %v: status %d, want %d:\n%s", args, got, status, text)
	}
	texttest.Has(t, text, words, args)
	if len(asked) == 0 {
		t.Errorf("%v: nothing would have been measured:\n%s", args, text)
	}
	return asked, text
}

// judgedRow is a row of a request that is at its limit, or at four times that if it isn't held.
func judgedRow(r row.Request, k limit.Key, mode row.Mode, verdict judge.Verdict) row.Row {
	asked := float64(r.Asked[k])
	seen := asked
	if verdict == judge.NotHeld {
		seen *= 4
	}
	return row.Row{
		Finding: judge.Finding{Key: k, Asked: asked, Seen: seen, Off: seen/asked - 1, Verdict: verdict},
		Mode:    mode, Members: r.Members, App: seen, Device: seen, Converged: -1, Elapsed: r.Time,
	}
}

// reaches is proves without a measurement: verify would measure the limit that is set, in the container's group, by a worker that is in it.
// Whether the kernel holds such a group's limit doesn't depend on the engine that made it.
func (l limitLab) reaches(t *testing.T, name string, where ...string) {
	t.Helper()
	l.do(t, exitDone, append([]string{"set", name, "--write-bps", "8MiB"}, where...)...)
	l.judgedAt(t, 8<<20, append([]string{"verify", name, "--modes", "direct"}, where...)...)
	l.clears(t, name)
}

// judgedAt is judged for a verify of one write_bps that the kernel has, in the group where the worker is.
func (l limitLab) judgedAt(t *testing.T, rate int64, args ...string) (r row.Request, text string) {
	t.Helper()
	asked, text := l.tried(t, func(r row.Request) []row.Row {
		procs, err := os.ReadFile(filepath.Join(r.Group.Dir, "cgroup.procs"))
		pid := strconv.Itoa(r.Agent.Info().PID)
		if err != nil || !slices.Contains(strings.Fields(string(procs)), pid) {
			t.Errorf("%v: the worker %s is not among %q of %s: %v", args, pid, procs, r.Group.Dir, err)
		}
		if got := deviceLimit(t, r.Group.Dir, "blkio.throttle.write_bps_device", r.Device.Number.String()); got != strconv.FormatInt(rate, 10) {
			t.Errorf("%v: the worker's group has %q for %s, want %d", args, got, r.Device.Name, rate)
		}
		return []row.Row{judgedRow(r, limit.WriteBPS, row.Direct, judge.Held)}
	}, exitDone, []string{"held: asked " + size.Bytes(rate) + "/s"}, args...)
	if len(asked) != 1 || asked[0].Asked[limit.WriteBPS] != rate {
		t.Fatalf("%v would measure %+v, want once, against %d", args, asked, rate)
	}
	return asked[0], text
}
